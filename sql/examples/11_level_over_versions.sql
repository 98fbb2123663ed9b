-- How did memory develop over the versions, in each scenario and configuration, and what did each version's history use?
SELECT app, device, scenario, version_name, run_count, round(level_median / 1e6, 1) AS memory_mb,
    round(band_low / 1e6, 1) AS history_low_mb, round(band_high / 1e6, 1) AS history_high_mb,
    round(100 * change_ratio, 1) AS change_percent
FROM marts.trends_by_scenario
WHERE series = 'rss_app'
ORDER BY app, device, config_hash, scenario, version_rank;
