-- A row is a whole series of a run as one list, or the reason why there is none.
CREATE VIEW marts.series_arrays AS
SELECT
    series.run_id,
    runs.app,
    runs.version_name,
    runs.started_at,
    series.series,
    series.unit,
    series.interval_s,
    series.start_ns,
    series."values",
    series.is_missing,
    series.reason,
    series.code_version,
    series.extracted_at
FROM core.time_series AS series
JOIN core.runs AS runs ON runs.run_id = series.run_id;

COMMENT ON VIEW marts.series_arrays IS 'A row is a whole series of a run as one list, or the reason why there is none.';
COMMENT ON COLUMN marts.series_arrays.run_id IS 'The run.';
COMMENT ON COLUMN marts.series_arrays.app IS 'Android application id.';
COMMENT ON COLUMN marts.series_arrays.version_name IS 'Version of the app as its makers name it.';
COMMENT ON COLUMN marts.series_arrays.started_at IS 'When the run started (UTC).';
COMMENT ON COLUMN marts.series_arrays.series IS 'Name of the series, such as cpu_app or rss_app.';
COMMENT ON COLUMN marts.series_arrays.unit IS 'Unit of the values.';
COMMENT ON COLUMN marts.series_arrays.interval_s IS 'Width of an interval of the grid, seconds.';
COMMENT ON COLUMN marts.series_arrays.start_ns IS 'Start of the first interval on the trace clock (BOOTTIME), ns.';
COMMENT ON COLUMN marts.series_arrays."values" IS 'One value per interval; NULL when missing.';
COMMENT ON COLUMN marts.series_arrays.is_missing IS 'The trace does not have what the series needs.';
COMMENT ON COLUMN marts.series_arrays.reason IS 'Why it is missing, one sentence.';
COMMENT ON COLUMN marts.series_arrays.code_version IS 'Version of this project that made the row.';
COMMENT ON COLUMN marts.series_arrays.extracted_at IS 'When it was extracted (UTC).';
