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
