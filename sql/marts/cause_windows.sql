-- A row is a suspicious window for which causes were looked for, or the whole run where an anomalous series has none. What it was found from being another by now, it is left out until it was looked at again.
-- depends: verdicts, causes_from
CREATE VIEW marts.cause_windows AS
SELECT
    current.run_id,
    current.run_no,
    current.app,
    current.version_name,
    explained.series,
    explained.window_index,
    explained.is_whole_run,
    explained.start_s,
    explained.end_s,
    explained.start_ns,
    explained.end_ns,
    explained.confidence,
    explained.state,
    explained.state_reason,
    explained.disturbance,
    explained.history_count,
    explained.matched_count
FROM core.cause_windows AS explained
JOIN core.cause_runs AS made ON made.run_no = explained.run_no
JOIN marts.causes_from AS current ON current.run_no = made.run_no AND current.inputs_mark = made.inputs_mark
JOIN marts.verdicts AS verdicts ON verdicts.run_no = current.run_no AND verdicts.series = explained.series
WHERE verdicts.is_current AND verdicts.is_anomalous;

COMMENT ON VIEW marts.cause_windows IS 'A row is a suspicious window for which causes were looked for, or the whole run where an anomalous series has none. What it was found from being another by now, it is left out until it was looked at again.';
