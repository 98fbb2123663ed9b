-- A row is a suspicious window of a series that is anomalous by its current verdict.
-- depends: verdicts
CREATE VIEW marts.discords AS
SELECT
    verdicts.run_id,
    verdicts.run_no,
    verdicts.app,
    verdicts.version_name,
    verdicts.started_at,
    windows.series,
    windows.window_index,
    windows.start_s,
    windows.end_s,
    windows.peak_s,
    windows.end_s - windows.start_s AS duration_s,
    windows.start_ns,
    windows.end_ns,
    windows.confidence,
    windows.profile_value,
    windows.screens
FROM core.discords AS windows
JOIN marts.verdicts AS verdicts
    ON verdicts.run_no = windows.run_no AND verdicts.series = windows.series
WHERE verdicts.is_current AND verdicts.is_anomalous;

COMMENT ON VIEW marts.discords IS 'A row is a suspicious window of a series that is anomalous by its current verdict.';
