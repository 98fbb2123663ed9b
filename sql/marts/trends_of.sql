-- Levels of series over versions, of all runs of a version together (false) or of each configuration and scenario apart, of runs that count: SELECT * FROM marts.trends_of(true).
-- depends: counted_runs, version_ranks, compared_with
CREATE MACRO marts.trends_of(is_apart) AS TABLE
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
    levels.config_count,
    levels.device,
    levels.config_hash,
    levels.scenario
FROM (
    SELECT
        runs.app,
        runs.version_name,
        runs.config_hash,
        runs.scenario,
        measured.series,
        any_value(runs.device ORDER BY runs.device) AS device,
        any_value(measured.unit) AS unit,
        count(*) AS run_count,
        avg(measured.mean ORDER BY measured.mean) AS level_mean,  -- in an order: sums of floats depend on it
        median(measured.mean) AS level_median,
        min(measured.mean) AS level_minimum,
        max(measured.mean) AS level_maximum,
        median(measured.growth_per_s) AS growth_per_s_median,
        count(DISTINCT runs.own_config_hash) AS config_count
    FROM core.series_levels AS measured
    JOIN (
        SELECT
            known.run_no, known.app, known.version_name, known.device, known.config_hash AS own_config_hash,
            CASE WHEN is_apart THEN known.config_hash END AS config_hash, CASE WHEN is_apart THEN known.scenario END AS scenario
        FROM core.runs AS known
        WHERE NOT known.is_quarantined
            AND (NOT is_apart OR known.run_no IN (SELECT counted.run_no FROM marts.counted_runs AS counted))
    ) AS runs ON runs.run_no = measured.run_no
    GROUP BY runs.app, runs.version_name, runs.config_hash, runs.scenario, measured.series
) AS levels
JOIN marts.version_ranks AS versions ON versions.app = levels.app AND versions.version_name = levels.version_name
LEFT JOIN (
    SELECT
        compared.app,
        compared.version_name,
        compared.config_hash,
        compared.scenario,
        history.series,
        count(*) AS history_run_count,
        min(history.mean) AS band_low,
        median(history.mean) AS band_median,
        max(history.mean) AS band_high
    FROM (
        -- A version's runs share most of their history: first the runs, which are few, then their series.
        SELECT DISTINCT
            runs.app, runs.version_name, CASE WHEN is_apart THEN runs.config_hash END AS config_hash,
            CASE WHEN is_apart THEN runs.scenario END AS scenario, members.history_run_no
        FROM marts.compared_with AS members
        JOIN core.runs AS runs ON runs.run_no = members.run_no
        JOIN core.history_sets AS sets ON sets.run_no = members.run_no
        WHERE NOT runs.is_quarantined AND (sets.state = 'ready' OR members.way = 'any_path')
            AND (NOT is_apart OR runs.run_no IN (SELECT counted.run_no FROM marts.counted_runs AS counted))
    ) AS compared
    JOIN core.series_levels AS history ON history.run_no = compared.history_run_no
    GROUP BY compared.app, compared.version_name, compared.config_hash, compared.scenario, history.series
) AS bands
    ON bands.app = levels.app AND bands.version_name = levels.version_name AND bands.series = levels.series
    AND bands.config_hash IS NOT DISTINCT FROM levels.config_hash AND bands.scenario IS NOT DISTINCT FROM levels.scenario;

COMMENT ON MACRO TABLE marts.trends_of IS 'Levels of series over versions: at false of all runs of a version together, as marts.trends, at true of each configuration and scenario apart and of runs that count, as marts.trends_by_scenario. SELECT * FROM marts.trends_of(true).';
