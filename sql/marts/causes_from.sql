-- depends: compared_with
-- A row is a run with suspicious windows: a mark of all that its causes are found from, another when any of that is.
CREATE VIEW marts.causes_from AS
-- One level of joins, so that DuckDB hands a run that is asked for down to all of them.
SELECT
    found.run_id,
    found.run_no,
    runs.app,
    runs.version_name,
    md5(concat_ws(
        '|',
        list_sort(list(DISTINCT concat_ws(':', found.series, found.input_hash))),
        list_sort(list(DISTINCT concat_ws(
            '/', chosen.place, chosen.member, own.path_hash, times.values_hash, times.reason_code, slices.values_hash,
            traces.trace_sha256, CASE WHEN chosen.place = 0 THEN traces.code_version END, memory.series, memory.values_hash,
            profiles.file_name, profiles.sha256
        )))
    )) AS inputs_mark
FROM core.profiles AS found
JOIN core.runs AS runs ON runs.run_no = found.run_no
JOIN (
    SELECT run_id, run_no, run_id AS member, run_no AS member_no, 0 AS place FROM core.history_sets
    UNION ALL
    SELECT run_id, run_no, history_run_id, history_run_no, compared_rank FROM marts.compared_with
) AS chosen ON chosen.run_no = found.run_no
LEFT JOIN core.runs AS own ON own.run_no = chosen.member_no
LEFT JOIN core.traces AS traces ON traces.run_no = chosen.member_no
LEFT JOIN core.thread_times AS times ON times.run_no = chosen.member_no
LEFT JOIN core.slice_uses AS slices ON slices.run_no = chosen.member_no
LEFT JOIN core.time_series AS memory
    ON memory.run_no = chosen.member_no AND memory.series IN ('rss_anon_app', 'rss_file_app', 'swap_app')
LEFT JOIN core.attachments AS profiles
    ON profiles.run_no = chosen.member_no AND profiles.kind IN ('method_trace', 'call_stacks')
GROUP BY found.run_id, found.run_no, runs.app, runs.version_name;

COMMENT ON VIEW marts.causes_from IS 'A row is a run with suspicious windows: a mark of all that its causes are found from (its windows, what it and each run of its history did), another when any of that is.';
