-- A row is what a run takes on disk of one kind: its trace, its attachments, its series, its thread times and slices, the stacks of its windows, what its steps and methods cost, its path, or what was modelled of it.
-- depends: has_trace
CREATE VIEW marts.storage AS
SELECT
    taken.run_id,
    taken.run_no,
    runs.app,
    runs.version_name,
    runs.started_at,
    runs.registered_at,
    taken.kind,
    taken.stored_bytes,
    CASE WHEN taken.kind = 'trace' THEN coalesce(saved.bytes_before - saved.bytes_after, 0) ELSE 0 END::DOUBLE AS saved_bytes
FROM (
    SELECT
        registered.run_id, registered.run_no, 'trace' AS kind,
        coalesce(reduced.bytes_after, traces.trace_bytes, registered.trace_bytes)::DOUBLE AS stored_bytes
    FROM core.runs AS registered
    LEFT JOIN core.traces AS traces ON traces.run_no = registered.run_no
    LEFT JOIN core.reductions AS reduced
        ON reduced.run_id = registered.run_id AND reduced.is_in_place AND reduced.reduced_sha256 = traces.reduced_sha256
    WHERE marts.has_trace(registered.trace_file, registered.is_quarantined, traces.is_trace_gone)
    UNION ALL
    SELECT files.run_id, files.run_no, 'attachment', sum(files.bytes)::DOUBLE
    FROM core.attachments AS files
    GROUP BY files.run_id, files.run_no
    UNION ALL
    -- A file of the data folder holds many runs: each has the share of its rows.
    SELECT series.run_id, series.run_no, 'series', sum(files.file_bytes / files.row_count)
    FROM core.time_series AS series
    JOIN core.value_files AS files ON files.values_file = series.values_file AND files.kind = 'series'
    GROUP BY series.run_id, series.run_no
    UNION ALL
    SELECT times.run_id, times.run_no, 'threads', files.file_bytes / files.row_count * times.entity_count
    FROM core.thread_times AS times
    JOIN core.value_files AS files ON files.values_file = times.values_file AND files.kind = 'thread_times'
    UNION ALL
    SELECT uses.run_id, uses.run_no, 'slices', files.file_bytes / files.row_count * uses.use_count
    FROM core.slice_uses AS uses
    JOIN core.value_files AS files ON files.values_file = uses.values_file AND files.kind = 'slice_uses'
    UNION ALL
    SELECT found.run_id, found.run_no, 'causes', files.file_bytes / files.row_count * found.stack_count
    FROM core.cause_runs AS found
    JOIN core.value_files AS files ON files.values_file = found.values_file AND files.kind = 'cause_stacks'
    UNION ALL
    SELECT priced.run_id, priced.run_no, 'energy', sum(priced.stored_bytes)
    FROM (
        SELECT costs.run_id, costs.run_no, files.file_bytes / files.row_count * costs.priced_step_count AS stored_bytes
        FROM core.energy_runs AS costs
        JOIN core.value_files AS files ON files.values_file = costs.values_file AND files.kind = 'energy_steps'
        UNION ALL
        SELECT methods.run_id, methods.run_no, files.file_bytes / files.row_count * methods.method_count
        FROM core.method_energies AS methods
        JOIN core.value_files AS files ON files.values_file = methods.values_file AND files.kind = 'method_energies'
    ) AS priced
    GROUP BY priced.run_id, priced.run_no
    UNION ALL
    SELECT registered.run_id, registered.run_no, 'path', files.file_bytes / files.row_count * registered.step_count
    FROM core.runs AS registered
    JOIN core.value_files AS files ON files.values_file = registered.values_file AND files.kind = 'paths'
    UNION ALL
    SELECT parts.run_id, parts.run_no, 'model', sum(parts.stored_bytes)
    FROM (
        SELECT profiles.run_id, profiles.run_no, files.file_bytes / files.row_count AS stored_bytes
        FROM core.profiles AS profiles
        JOIN core.value_files AS files ON files.values_file = profiles.values_file AND files.kind = 'profiles'
        UNION ALL
        -- A barycenter belongs to the runs that share the history.
        SELECT assigned.run_id, assigned.run_no, files.file_bytes / files.row_count / shared.run_count
        FROM core.run_barycenters AS assigned
        JOIN core.barycenters AS centers ON centers.barycenter_id = assigned.barycenter_id
        JOIN core.value_files AS files ON files.values_file = centers.values_file AND files.kind = 'barycenters'
        JOIN (
            SELECT others.barycenter_id, count(*) AS run_count FROM core.run_barycenters AS others GROUP BY others.barycenter_id
        ) AS shared ON shared.barycenter_id = assigned.barycenter_id
    ) AS parts
    GROUP BY parts.run_id, parts.run_no
) AS taken
JOIN core.runs AS runs ON runs.run_no = taken.run_no
LEFT JOIN (
    SELECT read.run_id, read.run_no, given.bytes_before, given.bytes_after
    FROM core.reductions AS given
    JOIN core.traces AS read ON read.run_id = given.run_id AND read.reduced_sha256 = given.reduced_sha256
    WHERE given.is_in_place
) AS saved ON saved.run_no = taken.run_no;

COMMENT ON VIEW marts.storage IS 'A row is what a run takes on disk of one kind: trace (the file itself), attachment (the files beside it), series, threads (what its threads did by second), slices (of the app by screen), causes (stacks of its suspicious windows), energy (what its steps and methods cost), path, or model (profiles of its anomalous series, barycenters that it shares with runs of the same history). What lies in files of the data folder is the share of the file by rows. Keys and small numbers in the DuckDB file are not in it. saved_bytes is what a trace that was reduced in place took more before.';
