-- A row is what a run takes on disk of one kind: its trace, its attachments, its series, its thread times and slices, the stacks of its windows, its path, or what was modelled of it.
CREATE VIEW marts.storage AS
SELECT
    taken.run_id,
    runs.app,
    runs.version_name,
    runs.started_at,
    runs.registered_at,
    taken.kind,
    taken.stored_bytes
FROM (
    SELECT registered.run_id, 'trace' AS kind, coalesce(traces.trace_bytes, registered.trace_bytes)::DOUBLE AS stored_bytes
    FROM core.runs AS registered
    LEFT JOIN core.traces AS traces ON traces.run_id = registered.run_id
    WHERE registered.trace_file IS NOT NULL AND NOT registered.is_quarantined AND NOT coalesce(traces.is_trace_gone, false)
    UNION ALL
    SELECT files.run_id, 'attachment', sum(files.bytes)::DOUBLE
    FROM core.attachments AS files
    GROUP BY files.run_id
    UNION ALL
    -- A file of the data folder holds many runs: each has the share of its rows.
    SELECT series.run_id, 'series', sum(files.file_bytes / files.row_count)
    FROM core.time_series AS series
    JOIN core.value_files AS files ON files.values_file = series.values_file AND files.kind = 'series'
    GROUP BY series.run_id
    UNION ALL
    SELECT times.run_id, 'threads', files.file_bytes / files.row_count * times.entity_count
    FROM core.thread_times AS times
    JOIN core.value_files AS files ON files.values_file = times.values_file AND files.kind = 'thread_times'
    UNION ALL
    SELECT uses.run_id, 'slices', files.file_bytes / files.row_count * uses.use_count
    FROM core.slice_uses AS uses
    JOIN core.value_files AS files ON files.values_file = uses.values_file AND files.kind = 'slice_uses'
    UNION ALL
    SELECT found.run_id, 'causes', files.file_bytes / files.row_count * found.stack_count
    FROM core.cause_runs AS found
    JOIN core.value_files AS files ON files.values_file = found.values_file AND files.kind = 'cause_stacks'
    UNION ALL
    SELECT registered.run_id, 'path', files.file_bytes / files.row_count * registered.step_count
    FROM core.runs AS registered
    JOIN core.value_files AS files ON files.values_file = registered.values_file AND files.kind = 'paths'
    UNION ALL
    SELECT parts.run_id, 'model', sum(parts.stored_bytes)
    FROM (
        SELECT profiles.run_id, files.file_bytes / files.row_count AS stored_bytes
        FROM core.profiles AS profiles
        JOIN core.value_files AS files ON files.values_file = profiles.values_file AND files.kind = 'profiles'
        UNION ALL
        -- A barycenter belongs to the runs that share the history.
        SELECT assigned.run_id, files.file_bytes / files.row_count / shared.run_count
        FROM core.run_barycenters AS assigned
        JOIN core.barycenters AS centers ON centers.barycenter_id = assigned.barycenter_id
        JOIN core.value_files AS files ON files.values_file = centers.values_file AND files.kind = 'barycenters'
        JOIN (
            SELECT others.barycenter_id, count(*) AS run_count FROM core.run_barycenters AS others GROUP BY others.barycenter_id
        ) AS shared ON shared.barycenter_id = assigned.barycenter_id
    ) AS parts
    GROUP BY parts.run_id
) AS taken
JOIN core.runs AS runs ON runs.run_id = taken.run_id;

COMMENT ON VIEW marts.storage IS 'A row is what a run takes on disk of one kind: trace (the file itself), attachment (the files beside it), series, threads (what its threads did by second), slices (of the app by screen), causes (stacks of its suspicious windows), path, or model (profiles of its anomalous series, barycenters that it shares with runs of the same history). What lies in files of the data folder is the share of the file by rows. Keys and small numbers in the DuckDB file are not in it.';
