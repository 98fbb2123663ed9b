-- A row is a run that was given to the project, quarantined ones too, with where it stands.
-- depends: run_verdicts, reviews
CREATE VIEW marts.runs AS
SELECT
    runs.run_id,
    runs.partition_key,
    runs.app,
    runs.version_name,
    runs.version_code,
    runs.device,
    runs.device_unit,
    runs.strategy,
    runs.time_limit_s,
    runs.action_interval_s,
    runs.config_hash,
    runs.started_at,
    runs.exploration_start_ns,
    runs.exploration_end_ns,
    (runs.exploration_end_ns - runs.exploration_start_ns) / 1e9 AS exploration_s,
    runs.step_count,
    runs.explored_state_count,
    runs.functional_problem_count,
    runs.functional_problems,
    CASE
        WHEN runs.is_quarantined THEN 'quarantined'
        WHEN traces.is_complete IS NULL THEN 'registered'
        WHEN traces.is_complete THEN 'complete'
        ELSE 'incomplete_trace'
    END AS state,
    coalesce(runs.reason_code, traces.reason_code) AS reason_code,
    coalesce(runs.reason, traces.reason) AS reason,
    verdicts.state AS run_verdict,
    verdicts.is_anomalous,
    verdicts.explanation AS run_explanation,
    reviews.status AS review_status,
    reviews.note AS review_note,
    reviews.reviewer,
    reviews.reviewed_at,
    histories.state AS history_state,
    histories.history_size,
    runs.is_excluded,
    runs.exclude_reason,
    runs.trace_file IS NOT NULL AND NOT runs.is_quarantined AS has_trace,
    runs.trace_file,
    coalesce(traces.trace_bytes, runs.trace_bytes) AS trace_bytes,
    coalesce(traces.trace_sha256, runs.trace_sha256) AS trace_sha256,
    traces.start_ns AS trace_start_ns,
    traces.end_ns AS trace_end_ns,
    traces.duration_s AS trace_duration_s,
    traces.engine,
    traces.engine_version,
    traces.engine_seconds,
    runs.folder_name,
    runs.content_hash,
    runs.extra,
    runs.registered_at
FROM core.runs AS runs
LEFT JOIN core.traces AS traces ON traces.run_id = runs.run_id
LEFT JOIN core.history_sets AS histories ON histories.run_id = runs.run_id
LEFT JOIN (SELECT * FROM marts.run_verdicts AS given WHERE given.is_current) AS verdicts ON verdicts.run_id = runs.run_id
LEFT JOIN (SELECT * FROM marts.reviews AS given WHERE given.is_in_force) AS reviews ON reviews.run_id = runs.run_id;

COMMENT ON VIEW marts.runs IS 'A row is a run that was given to the project, quarantined ones too, with where it stands.';
COMMENT ON COLUMN marts.runs.run_id IS 'Key of the run; of a quarantined folder without a usable id: quarantined- and the start of its content hash.';
COMMENT ON COLUMN marts.runs.partition_key IS 'Dagster partition, app@version.';
COMMENT ON COLUMN marts.runs.app IS 'Android application id.';
COMMENT ON COLUMN marts.runs.version_name IS 'Version of the app as its makers name it.';
COMMENT ON COLUMN marts.runs.version_code IS 'Android''s integer version; NULL when not stated.';
COMMENT ON COLUMN marts.runs.device IS 'Test configuration: device.';
COMMENT ON COLUMN marts.runs.device_unit IS 'Serial number of the very device; no part of the test configuration, NULL when not stated.';
COMMENT ON COLUMN marts.runs.strategy IS 'Test configuration: exploration strategy.';
COMMENT ON COLUMN marts.runs.time_limit_s IS 'Test configuration: time limit, seconds.';
COMMENT ON COLUMN marts.runs.action_interval_s IS 'Test configuration: time between actions, seconds.';
COMMENT ON COLUMN marts.runs.config_hash IS 'Hash of the test configuration; only runs with the same one are compared.';
COMMENT ON COLUMN marts.runs.started_at IS 'When the run started (UTC).';
COMMENT ON COLUMN marts.runs.exploration_start_ns IS 'Start of the exploration on the trace clock (BOOTTIME), ns; NULL when not recorded.';
COMMENT ON COLUMN marts.runs.exploration_end_ns IS 'End of the exploration on the trace clock (BOOTTIME), ns; NULL when not recorded.';
COMMENT ON COLUMN marts.runs.exploration_s IS 'Length of the exploration, seconds.';
COMMENT ON COLUMN marts.runs.step_count IS 'Steps of the path.';
COMMENT ON COLUMN marts.runs.explored_state_count IS 'Distinct states of the app that the path visited.';
COMMENT ON COLUMN marts.runs.functional_problem_count IS 'Number of crashes, hangs and other functional problems.';
COMMENT ON COLUMN marts.runs.functional_problems IS 'The functional problems as JSON: kind, message, ts_ns.';
COMMENT ON COLUMN marts.runs.state IS 'complete; incomplete_trace: the gate refused the trace; quarantined: the folder breaks the format; registered: the trace was not looked at yet.';
COMMENT ON COLUMN marts.runs.reason_code IS 'Why it is quarantined or incomplete, a stable code.';
COMMENT ON COLUMN marts.runs.reason IS 'Why it is quarantined or incomplete, one sentence.';
COMMENT ON COLUMN marts.runs.run_verdict IS 'State of the run''s current verdict; NULL when it has none yet or is quarantined.';
COMMENT ON COLUMN marts.runs.is_anomalous IS 'The current verdict on the run; NULL where nothing was judged.';
COMMENT ON COLUMN marts.runs.run_explanation IS 'The current verdict on the run in words.';
COMMENT ON COLUMN marts.runs.review_status IS 'Last review: confirmed (a regression), rejected (a false alarm) or accepted (the new normal); NULL without.';
COMMENT ON COLUMN marts.runs.review_note IS 'What the last review says.';
COMMENT ON COLUMN marts.runs.reviewer IS 'Who gave the last review.';
COMMENT ON COLUMN marts.runs.reviewed_at IS 'When the last review was given (UTC).';
COMMENT ON COLUMN marts.runs.history_state IS 'ready or not_enough_history; NULL before selection.';
COMMENT ON COLUMN marts.runs.history_size IS 'Number of runs in its history.';
COMMENT ON COLUMN marts.runs.is_excluded IS 'Taken out of histories by hand.';
COMMENT ON COLUMN marts.runs.exclude_reason IS 'Why it was taken out.';
COMMENT ON COLUMN marts.runs.has_trace IS 'There is a trace to open.';
COMMENT ON COLUMN marts.runs.trace_file IS 'Name of the trace in the run folder.';
COMMENT ON COLUMN marts.runs.trace_bytes IS 'Size of the trace file, bytes.';
COMMENT ON COLUMN marts.runs.trace_sha256 IS 'SHA-256 of the trace file.';
COMMENT ON COLUMN marts.runs.trace_start_ns IS 'First timestamp of the trace, BOOTTIME ns.';
COMMENT ON COLUMN marts.runs.trace_end_ns IS 'Last timestamp of the trace, BOOTTIME ns.';
COMMENT ON COLUMN marts.runs.trace_duration_s IS 'Time the trace covers, seconds.';
COMMENT ON COLUMN marts.runs.engine IS 'Which trace processor read it.';
COMMENT ON COLUMN marts.runs.engine_version IS 'Version of the trace processor.';
COMMENT ON COLUMN marts.runs.engine_seconds IS 'Time spent in the trace processor, seconds.';
COMMENT ON COLUMN marts.runs.folder_name IS 'Name of the folder as it was given.';
COMMENT ON COLUMN marts.runs.content_hash IS 'SHA-256 over run.json and trace.';
COMMENT ON COLUMN marts.runs.extra IS 'Unknown keys of run.json, as JSON.';
COMMENT ON COLUMN marts.runs.registered_at IS 'When it was registered (UTC).';
