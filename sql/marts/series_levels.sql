-- A row is a series of a run summed up in a few numbers: what to plot over versions or give to a change-point tool.
CREATE VIEW marts.series_levels AS
SELECT
    levels.run_id,
    levels.run_no,
    runs.app,
    runs.version_name,
    runs.started_at,
    levels.series,
    levels.unit,
    levels.sample_count,
    levels.duration_s,
    levels.mean,
    levels.minimum,
    levels.median,
    levels.percentile_95,
    levels.maximum,
    levels.growth_per_s
FROM core.series_levels AS levels
JOIN core.runs AS runs ON runs.run_no = levels.run_no;

COMMENT ON VIEW marts.series_levels IS 'A row is a series of a run summed up in a few numbers: what to plot over versions or give to a change-point tool.';
