-- A row is a stack of a suspicious window, of slices or of sampled functions: its own time now and usually, as a differential flame graph shows it.
-- depends: cause_windows
CREATE VIEW marts.cause_stacks AS
SELECT
    windows.run_id,
    windows.run_no,
    windows.app,
    windows.version_name,
    windows.series,
    windows.window_index,
    stored.source,
    stored.process,
    stored.thread,
    stored.stack,
    stored.value,
    stored.history_median,
    windows.start_ns,
    windows.end_ns
FROM core.cause_runs AS made
JOIN core.cause_stack_values AS stored ON stored.values_file = made.values_file AND stored.run_id = made.run_id
JOIN marts.cause_windows AS windows
    ON windows.run_id = stored.run_id AND windows.run_no = made.run_no AND windows.series = stored.series AND windows.window_index = stored.window_index;

COMMENT ON VIEW marts.cause_stacks IS 'A row is a stack of a suspicious window, of slices or of sampled functions: its own time now and usually, as a differential flame graph shows it.';
