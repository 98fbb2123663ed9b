-- A row is a sample of a series of a run, in long form.
CREATE VIEW marts.time_series AS
SELECT
    samples.run_id,
    samples.run_no,
    samples.app,
    samples.version_name,
    samples.series,
    samples.unit,
    samples.sample_index * samples.interval_s AS offset_s,
    samples.start_ns + round(samples.sample_index * samples.interval_s * 1e9)::BIGINT AS trace_ts_ns,
    CASE WHEN NOT isnan(samples."value") THEN samples."value" END AS "value"
FROM (
    SELECT
        series.run_id,
        series.run_no,
        runs.app,
        runs.version_name,
        series.series,
        series.unit,
        series.interval_s,
        series.start_ns,
        unnest(stored."values") AS "value",
        unnest(range(len(stored."values"))) AS sample_index
    FROM core.time_series AS series
    JOIN core.runs AS runs ON runs.run_no = series.run_no
    JOIN core.series_values AS stored
        ON stored.values_file = series.values_file AND stored.run_id = series.run_id AND stored.series = series.series
) AS samples;

COMMENT ON VIEW marts.time_series IS 'A row is a sample of a series of a run, in long form.';
