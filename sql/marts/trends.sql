-- A row is the level of a series in a version, beside the band of what its runs were compared with.
-- Its runs may be of several configurations, which are pooled on both sides: config_count says so.
-- depends: version_ranks, compared_with
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
    levels.level_median / nullif(bands.band_median, 0) - 1 AS change_ratio,
    levels.config_count
FROM (
    SELECT
        runs.app,
        runs.version_name,
        measured.series,
        any_value(measured.unit) AS unit,
        count(*) AS run_count,
        avg(measured.mean ORDER BY measured.mean) AS level_mean,  -- in an order: sums of floats depend on it
        median(measured.mean) AS level_median,
        min(measured.mean) AS level_minimum,
        max(measured.mean) AS level_maximum,
        median(measured.growth_per_s) AS growth_per_s_median,
        count(DISTINCT runs.config_hash) AS config_count
    FROM core.series_levels AS measured
    JOIN core.runs AS runs ON runs.run_no = measured.run_no
    GROUP BY runs.app, runs.version_name, measured.series
) AS levels
JOIN marts.version_ranks AS versions ON versions.app = levels.app AND versions.version_name = levels.version_name
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
        SELECT compared.app, compared.version_name, history.series, history.mean
        FROM (
            -- A version's runs share most of their history: first the runs, which are few, then their series.
            SELECT DISTINCT runs.app, runs.version_name, members.history_run_no
            FROM marts.compared_with AS members
            JOIN core.runs AS runs ON runs.run_no = members.run_no
            JOIN core.history_sets AS sets ON sets.run_no = members.run_no
            WHERE sets.state = 'ready' OR members.way = 'any_path'
        ) AS compared
        JOIN core.series_levels AS history ON history.run_no = compared.history_run_no
    ) AS members
    GROUP BY members.app, members.version_name, members.series
) AS bands ON bands.app = levels.app AND bands.version_name = levels.version_name AND bands.series = levels.series;

COMMENT ON VIEW marts.trends IS 'A row is the level of a series in a version, beside the band of what its runs were compared with. All its runs are in it, of any scenario, those too that people left out of verdicts: it tells what was measured; marts.trends_by_scenario tells scenarios and configurations apart.';
