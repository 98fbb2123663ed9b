-- By how much did each series change from one version to the next, in the same scenario and configuration?
SELECT app, device, scenario, series, lag(version_name) OVER versions AS from_version, version_name AS to_version,
    round(100 * (level_median / nullif(lag(level_median) OVER versions, 0) - 1), 1) AS change_percent
FROM marts.trends_by_scenario
WINDOW versions AS (PARTITION BY app, config_hash, scenario, series ORDER BY version_rank)
QUALIFY from_version IS NOT NULL
ORDER BY abs(change_percent) DESC NULLS LAST;
