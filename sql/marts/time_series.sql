-- A row is a sample of a series of a run, in long form.
CREATE VIEW marts.time_series AS
SELECT
    samples.run_id,
    samples.app,
    samples.version_name,
    samples.series,
    samples.unit,
    samples.sample_index * samples.interval_s AS offset_s,
    samples.start_ns + round(samples.sample_index * samples.interval_s * 1e9)::BIGINT AS trace_ts_ns,
    samples."value"
FROM (
    SELECT
        series.run_id,
        runs.app,
        runs.version_name,
        series.series,
        series.unit,
        series.interval_s,
        series.start_ns,
        unnest(series."values") AS "value",
        unnest(range(len(series."values"))) AS sample_index
    FROM core.time_series AS series
    JOIN core.runs AS runs ON runs.run_id = series.run_id
    WHERE NOT series.is_missing
) AS samples;

COMMENT ON VIEW marts.time_series IS 'A row is a sample of a series of a run, in long form.';
COMMENT ON COLUMN marts.time_series.run_id IS 'The run.';
COMMENT ON COLUMN marts.time_series.app IS 'Android application id.';
COMMENT ON COLUMN marts.time_series.version_name IS 'Version of the app as its makers name it.';
COMMENT ON COLUMN marts.time_series.series IS 'Name of the series, such as cpu_app or rss_app.';
COMMENT ON COLUMN marts.time_series.unit IS 'Unit of the values.';
COMMENT ON COLUMN marts.time_series.offset_s IS 'Start of the interval, seconds since the start of the series.';
COMMENT ON COLUMN marts.time_series.trace_ts_ns IS 'Start of the interval on the trace clock (BOOTTIME), ns: what a deep link into Perfetto needs.';
COMMENT ON COLUMN marts.time_series."value" IS 'Value of the interval.';
