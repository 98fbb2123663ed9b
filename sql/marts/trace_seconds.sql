-- A row is a second of a trace that was reduced, kept or dropped: how often each type of event occurs in it, how long each process ran and what memory it had.
CREATE VIEW marts.trace_seconds AS
SELECT
    seconds.original_sha256,
    seconds.run_id,
    (seconds.second ->> 'start_ns')::BIGINT AS start_ns,
    (seconds.second ->> 'is_kept')::BOOLEAN AS is_kept,
    seconds.second -> 'counts' AS event_counts,
    seconds.second -> 'running_s' AS process_running_s,
    seconds.second -> 'rss_bytes' AS process_rss_bytes,
    coalesce(list_sum((seconds.second -> 'counts' -> '$.*')::BIGINT[]), 0)::BIGINT AS event_count
FROM (
    SELECT reduced.original_sha256, reduced.run_id, unnest(reduced.second_events::JSON[]) AS second
    FROM core.reductions AS reduced
) AS seconds;

COMMENT ON VIEW marts.trace_seconds IS 'A row is a second of a trace that was reduced, kept or dropped: how often each type of event occurs in it, how long each process ran and what memory it had.';
