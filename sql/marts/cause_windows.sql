-- A row is a suspicious window for which causes were looked for, with what came of it. What the windows were found from, or the run's thread times, being others by now, it is left out until it was looked at again.
-- depends: discords
CREATE VIEW marts.cause_windows AS
SELECT
    windows.run_id,
    windows.app,
    windows.version_name,
    windows.series,
    windows.window_index,
    windows.start_s,
    windows.end_s,
    windows.start_ns,
    windows.end_ns,
    windows.confidence,
    explained.state,
    explained.state_reason,
    explained.disturbance,
    explained.history_count,
    explained.matched_count
FROM core.cause_windows AS explained
JOIN marts.discords AS windows
    ON windows.run_id = explained.run_id AND windows.series = explained.series
    AND windows.window_index = explained.window_index
JOIN core.profiles AS found ON found.run_id = explained.run_id AND found.series = explained.series
LEFT JOIN core.thread_times AS times ON times.run_id = explained.run_id
WHERE found.input_hash = explained.windows_hash AND times.values_hash IS NOT DISTINCT FROM explained.threads_hash;

COMMENT ON VIEW marts.cause_windows IS 'A row is a suspicious window for which causes were looked for, with what came of it. What the windows were found from, or the run''s thread times, being others by now, it is left out until it was looked at again.';
