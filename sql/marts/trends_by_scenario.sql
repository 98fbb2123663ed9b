-- A row is the level of a series in a version's runs of one scenario and configuration, beside the band of what these were compared with.
-- depends: counted_runs, version_ranks, compared_with
CREATE VIEW marts.trends_by_scenario AS
SELECT
    levels.app,
    levels.device,
    levels.config_hash,
    levels.scenario,
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
        any_value(runs.device ORDER BY runs.device) AS device,
        runs.config_hash,
        runs.scenario,
        runs.version_name,
        measured.series,
        any_value(measured.unit) AS unit,
        count(*) AS run_count,
        avg(measured.mean ORDER BY measured.mean) AS level_mean,  -- in an order: sums of floats depend on it
        median(measured.mean) AS level_median,
        min(measured.mean) AS level_minimum,
        max(measured.mean) AS level_maximum,
        median(measured.growth_per_s) AS growth_per_s_median
    FROM core.series_levels AS measured
    JOIN marts.counted_runs AS runs ON runs.run_no = measured.run_no
    GROUP BY runs.app, runs.config_hash, runs.scenario, runs.version_name, measured.series
) AS levels
JOIN marts.version_ranks AS versions ON versions.app = levels.app AND versions.version_name = levels.version_name
LEFT JOIN (
    SELECT
        compared.app,
        compared.config_hash,
        compared.scenario,
        compared.version_name,
        history.series,
        count(*) AS history_run_count,
        min(history.mean) AS band_low,
        median(history.mean) AS band_median,
        max(history.mean) AS band_high
    FROM (
        -- A version's runs share most of their history: first the runs, which are few, then their series.
        SELECT DISTINCT runs.app, runs.config_hash, runs.scenario, runs.version_name, members.history_run_no
        FROM marts.compared_with AS members
        JOIN marts.counted_runs AS runs ON runs.run_no = members.run_no
        JOIN core.history_sets AS sets ON sets.run_no = members.run_no
        WHERE sets.state = 'ready' OR members.way = 'any_path'
    ) AS compared
    JOIN core.series_levels AS history ON history.run_no = compared.history_run_no
    GROUP BY compared.app, compared.config_hash, compared.scenario, compared.version_name, history.series
) AS bands
    ON bands.app = levels.app AND bands.config_hash = levels.config_hash
    AND bands.scenario IS NOT DISTINCT FROM levels.scenario
    AND bands.version_name = levels.version_name AND bands.series = levels.series;

COMMENT ON VIEW marts.trends_by_scenario IS 'A row is the level of a series in a version''s runs of one scenario and configuration, beside the band of what these were compared with. Runs that people left out of verdicts are not in it; marts.trends pools all.';
