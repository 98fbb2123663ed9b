-- A row is the level of a series in a version, beside the band of what its runs were compared with.
-- depends: series_levels, app_versions
CREATE VIEW marts.trends AS
SELECT
    levels.app,
    levels.version_name,
    versions.version_rank,
    versions.first_started_at,
    levels.series,
    levels.unit,
    levels.run_count,
    levels.level_mean,
    levels.level_median,
    levels.level_minimum,
    levels.level_maximum,
    levels.growth_per_s_median,
    bands.history_run_count,
    bands.band_low,
    bands.band_median,
    bands.band_high,
    levels.level_median / nullif(bands.band_median, 0) - 1 AS change_ratio
FROM (
    SELECT
        runs.app,
        runs.version_name,
        runs.series,
        any_value(runs.unit) AS unit,
        count(*) AS run_count,
        avg(runs.mean) AS level_mean,
        median(runs.mean) AS level_median,
        min(runs.mean) AS level_minimum,
        max(runs.mean) AS level_maximum,
        median(runs.growth_per_s) AS growth_per_s_median
    FROM marts.series_levels AS runs
    GROUP BY runs.app, runs.version_name, runs.series
) AS levels
JOIN marts.app_versions AS versions ON versions.app = levels.app AND versions.version_name = levels.version_name
LEFT JOIN (
    SELECT
        members.app,
        members.version_name,
        members.series,
        count(*) AS history_run_count,
        min(members.mean) AS band_low,
        median(members.mean) AS band_median,
        max(members.mean) AS band_high
    FROM (
        SELECT DISTINCT runs.app, runs.version_name, history.series, candidates.history_run_id, history.mean
        FROM core.history_candidates AS candidates
        JOIN core.runs AS runs ON runs.run_id = candidates.run_id
        JOIN core.history_sets AS sets ON sets.run_id = candidates.run_id
        JOIN marts.series_levels AS history ON history.run_id = candidates.history_run_id
        WHERE candidates.history_rank IS NOT NULL AND sets.state = 'ready'
    ) AS members
    GROUP BY members.app, members.version_name, members.series
) AS bands ON bands.app = levels.app AND bands.version_name = levels.version_name AND bands.series = levels.series;

COMMENT ON VIEW marts.trends IS 'A row is the level of a series in a version, beside the band of what its runs were compared with.';
COMMENT ON COLUMN marts.trends.app IS 'Android application id.';
COMMENT ON COLUMN marts.trends.version_name IS 'Version of the app as its makers name it.';
COMMENT ON COLUMN marts.trends.version_rank IS 'Order of the versions within the app, 1 is the first.';
COMMENT ON COLUMN marts.trends.first_started_at IS 'Start of the version''s first run (UTC).';
COMMENT ON COLUMN marts.trends.series IS 'Name of the series, such as cpu_app or rss_app.';
COMMENT ON COLUMN marts.trends.unit IS 'Unit of the values.';
COMMENT ON COLUMN marts.trends.run_count IS 'Runs of the version that have the series.';
COMMENT ON COLUMN marts.trends.level_mean IS 'Mean over the runs of their means, in the unit of the series.';
COMMENT ON COLUMN marts.trends.level_median IS 'Median over the runs of their means.';
COMMENT ON COLUMN marts.trends.level_minimum IS 'Lowest mean of a run.';
COMMENT ON COLUMN marts.trends.level_maximum IS 'Highest mean of a run.';
COMMENT ON COLUMN marts.trends.growth_per_s_median IS 'Median growth within a run, unit per second.';
COMMENT ON COLUMN marts.trends.history_run_count IS 'Different runs in the histories of the version''s runs; NULL without history.';
COMMENT ON COLUMN marts.trends.band_low IS 'Lowest mean among those history runs.';
COMMENT ON COLUMN marts.trends.band_median IS 'Median of their means.';
COMMENT ON COLUMN marts.trends.band_high IS 'Highest mean among them.';
COMMENT ON COLUMN marts.trends.change_ratio IS 'level_median / band_median - 1: 0.1 is 10 % more than the history.';
