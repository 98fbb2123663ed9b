-- A row is a whole series of a run as one list, or the reason why there is none.
CREATE VIEW marts.series_arrays AS
SELECT
    series.run_id,
    series.run_no,
    runs.app,
    runs.version_name,
    runs.started_at,
    series.series,
    series.unit,
    series.interval_s,
    series.start_ns,
    stored."values",
    series.is_missing,
    series.reason_code,
    series.reason,
    series.code_version,
    series.extracted_at
FROM core.time_series AS series
JOIN core.runs AS runs ON runs.run_no = series.run_no
LEFT JOIN core.series_values AS stored
    ON stored.values_file = series.values_file AND stored.run_id = series.run_id AND stored.series = series.series;

COMMENT ON VIEW marts.series_arrays IS 'A row is a whole series of a run as one list, or the reason why there is none.';
