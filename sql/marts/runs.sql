-- A row is a run that was given to the project, quarantined ones too, with where it stands.
-- depends: axis_verdicts, has_trace, reviews, run_state, run_verdicts
CREATE VIEW marts.runs AS
SELECT
    runs.run_id,
    runs.run_no,
    runs.partition_key,
    runs.app,
    runs.version_name,
    runs.version_code,
    runs.device,
    runs.device_unit,
    runs.scenario,
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
    marts.run_state(runs.is_quarantined, traces.is_complete, traces.reason_code) AS state,
    coalesce(runs.reason_code, traces.reason_code) AS reason_code,
    coalesce(runs.reason, traces.reason) AS reason,
    verdicts.state AS run_verdict,
    verdicts.is_anomalous,
    verdicts.explanation AS run_explanation,
    axes.axis_states,
    reviews.status AS review_status,
    reviews.note AS review_note,
    reviews.reviewer,
    reviews.reviewed_at,
    histories.state AS history_state,
    histories.history_size,
    runs.is_excluded,
    runs.exclude_reason,
    marts.has_trace(runs.trace_file, runs.is_quarantined, traces.is_trace_gone) AS has_trace,
    runs.trace_file,
    coalesce(traces.trace_bytes, runs.trace_bytes) AS trace_bytes,
    coalesce(traces.trace_sha256, runs.trace_sha256) AS trace_sha256,
    traces.reduced_sha256 IS NOT NULL AS is_trace_reduced,
    traces.start_ns AS trace_start_ns,
    traces.end_ns AS trace_end_ns,
    traces.duration_s AS trace_duration_s,
    traces.load_sources,
    traces.engine,
    traces.engine_version,
    traces.engine_seconds,
    runs.folder_name,
    runs.content_hash,
    runs.extra,
    runs.registered_at
FROM core.runs AS runs
-- By id beside the number, so that a question by either reaches what is joined to the left.
LEFT JOIN core.traces AS traces ON traces.run_id = runs.run_id AND traces.run_no = runs.run_no
LEFT JOIN core.history_sets AS histories ON histories.run_id = runs.run_id AND histories.run_no = runs.run_no
-- By app and version too, although the id says it all: a filter on them then reaches what is joined.
LEFT JOIN (SELECT * FROM marts.run_verdicts AS given WHERE given.is_current) AS verdicts
    ON verdicts.run_id = runs.run_id AND verdicts.run_no = runs.run_no AND verdicts.app = runs.app AND verdicts.version_name = runs.version_name
LEFT JOIN (
    SELECT
        given.run_id, given.run_no, given.app, given.version_name,
        map(list(given.axis ORDER BY given.axis), list(given.state ORDER BY given.axis)) AS axis_states
    FROM marts.axis_verdicts AS given
    WHERE given.is_current
    GROUP BY given.run_id, given.run_no, given.app, given.version_name
) AS axes ON axes.run_id = runs.run_id AND axes.run_no = runs.run_no AND axes.app = runs.app AND axes.version_name = runs.version_name
LEFT JOIN (SELECT * FROM marts.reviews AS given WHERE given.is_in_force) AS reviews ON reviews.run_id = runs.run_id AND reviews.run_no = runs.run_no;

COMMENT ON VIEW marts.runs IS 'A row is a run that was given to the project, quarantined ones too, with where it stands.';
