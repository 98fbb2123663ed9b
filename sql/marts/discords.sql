-- A row is a suspicious window of a series that is anomalous by its current verdict.
-- depends: verdicts
CREATE VIEW marts.discords AS
SELECT
    windows.run_id,
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
    ON verdicts.run_id = windows.run_id AND verdicts.series = windows.series
WHERE verdicts.is_current AND verdicts.is_anomalous;

COMMENT ON VIEW marts.discords IS 'A row is a suspicious window of a series that is anomalous by its current verdict.';
COMMENT ON COLUMN marts.discords.run_id IS 'The run.';
COMMENT ON COLUMN marts.discords.app IS 'Android application id.';
COMMENT ON COLUMN marts.discords.version_name IS 'Version of the app as its makers name it.';
COMMENT ON COLUMN marts.discords.started_at IS 'When the run started (UTC).';
COMMENT ON COLUMN marts.discords.series IS 'Name of the series, such as cpu_app or rss_app.';
COMMENT ON COLUMN marts.discords.window_index IS 'Number of the window within run and series, from 0, by time.';
COMMENT ON COLUMN marts.discords.start_s IS 'Start, seconds since the start of the series.';
COMMENT ON COLUMN marts.discords.end_s IS 'End, seconds since the start of the series.';
COMMENT ON COLUMN marts.discords.peak_s IS 'Most suspicious moment, seconds since the start of the series.';
COMMENT ON COLUMN marts.discords.duration_s IS 'Length, seconds.';
COMMENT ON COLUMN marts.discords.start_ns IS 'Start on the trace clock (BOOTTIME), ns: visStart of a deep link.';
COMMENT ON COLUMN marts.discords.end_ns IS 'End on the trace clock (BOOTTIME), ns: visEnd of a deep link.';
COMMENT ON COLUMN marts.discords.confidence IS 'How sure the localisation is, 0 to 1.';
COMMENT ON COLUMN marts.discords.profile_value IS 'Value of the profile at the peak.';
COMMENT ON COLUMN marts.discords.screens IS 'Screens that the path shows during the window, in order.';
