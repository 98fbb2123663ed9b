-- A row is a suspicious window for which causes were looked for, or the whole run where an anomalous series has none. What it was found from being another by now, it is left out until it was looked at again.
-- depends: verdicts
CREATE VIEW marts.cause_windows AS
SELECT
    verdicts.run_id,
    verdicts.app,
    verdicts.version_name,
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
JOIN marts.verdicts AS verdicts ON verdicts.run_id = explained.run_id AND verdicts.series = explained.series
JOIN core.profiles AS found ON found.run_id = explained.run_id AND found.series = explained.series
LEFT JOIN core.thread_times AS times ON times.run_id = explained.run_id
WHERE verdicts.is_current AND verdicts.is_anomalous
    AND found.input_hash = explained.windows_hash AND times.values_hash IS NOT DISTINCT FROM explained.threads_hash;

COMMENT ON VIEW marts.cause_windows IS 'A row is a suspicious window for which causes were looked for, or the whole run where an anomalous series has none. What it was found from being another by now, it is left out until it was looked at again.';
