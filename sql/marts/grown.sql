-- A row is something that took notably more in a suspicious window (or the run, where an anomalous series has none) than in comparable earlier runs: a cause of it, or what else grew.
-- depends: cause_windows
CREATE VIEW marts.grown AS
SELECT
    windows.run_id,
    windows.run_no,
    windows.app,
    windows.version_name,
    grown.series,
    grown.window_index,
    grown.is_cause,
    grown.rank,
    grown.kind,
    grown.scope,
    grown.process,
    grown.thread,
    grown.name,
    grown.path,
    grown.value,
    grown.history_median,
    grown.history_mad,
    grown.growth,
    grown.growth_share,
    grown.z,
    grown.is_new,
    grown.matched_count = grown.history_count AS is_matched,
    grown.matched_count,
    grown.history_count,
    grown.source,
    windows.is_whole_run,
    windows.start_s,
    windows.end_s,
    windows.start_ns,
    windows.end_ns
FROM core.causes AS grown
JOIN marts.cause_windows AS windows
    ON windows.run_no = grown.run_no AND windows.series = grown.series AND windows.window_index = grown.window_index;

COMMENT ON VIEW marts.grown IS 'A row is something that took notably more in a suspicious window (or the run, where an anomalous series has none) than in comparable earlier runs: a cause of it, or what else grew.';
