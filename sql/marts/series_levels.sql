-- A row is a series of a run summed up in a few numbers: what to plot over versions or give to a change-point tool.
CREATE VIEW marts.series_levels AS
SELECT
    levels.run_id,
    levels.app,
    levels.version_name,
    levels.started_at,
    levels.series,
    levels.unit,
    len(levels.samples) AS sample_count,
    len(levels.samples) * levels.interval_s AS duration_s,
    list_avg(levels.samples) AS mean,
    list_min(levels.samples) AS minimum,
    list_aggregate(levels.samples, 'median') AS median,
    list_aggregate(levels.samples, 'quantile_cont', 0.95) AS percentile_95,
    list_max(levels.samples) AS maximum,
    CASE
        WHEN len(levels.samples) >= 8
        THEN (list_avg(levels.samples[-(len(levels.samples) // 4):]) - list_avg(levels.samples[:len(levels.samples) // 4]))
            / ((len(levels.samples) - len(levels.samples) // 4) * levels.interval_s)
    END AS growth_per_s
FROM (
    SELECT
        series.run_id,
        runs.app,
        runs.version_name,
        runs.started_at,
        series.series,
        series.unit,
        series.interval_s,
        list_filter(series."values", lambda sample: isfinite(sample)) AS samples
    FROM core.time_series AS series
    JOIN core.runs AS runs ON runs.run_id = series.run_id
    WHERE NOT series.is_missing
) AS levels
WHERE len(levels.samples) > 0;

COMMENT ON VIEW marts.series_levels IS 'A row is a series of a run summed up in a few numbers: what to plot over versions or give to a change-point tool.';
COMMENT ON COLUMN marts.series_levels.run_id IS 'The run.';
COMMENT ON COLUMN marts.series_levels.app IS 'Android application id.';
COMMENT ON COLUMN marts.series_levels.version_name IS 'Version of the app as its makers name it.';
COMMENT ON COLUMN marts.series_levels.started_at IS 'When the run started (UTC).';
COMMENT ON COLUMN marts.series_levels.series IS 'Name of the series, such as cpu_app or rss_app.';
COMMENT ON COLUMN marts.series_levels.unit IS 'Unit of the values.';
COMMENT ON COLUMN marts.series_levels.sample_count IS 'Number of samples.';
COMMENT ON COLUMN marts.series_levels.duration_s IS 'Time they cover, seconds.';
COMMENT ON COLUMN marts.series_levels.mean IS 'Mean, in the unit of the series.';
COMMENT ON COLUMN marts.series_levels.minimum IS 'Smallest sample.';
COMMENT ON COLUMN marts.series_levels.median IS 'Median.';
COMMENT ON COLUMN marts.series_levels.percentile_95 IS '95th percentile.';
COMMENT ON COLUMN marts.series_levels.maximum IS 'Largest sample.';
COMMENT ON COLUMN marts.series_levels.growth_per_s IS 'Mean of the last quarter minus mean of the first, per second between their middles; NULL below 8 samples.';
