-- How did memory develop over the versions, and what did each version's history use?
SELECT app, version_name, round(level_median / 1e6, 1) AS memory_mb, round(band_low / 1e6, 1) AS history_low_mb,
    round(band_high / 1e6, 1) AS history_high_mb, round(100 * change_ratio, 1) AS change_percent
FROM marts.trends
WHERE series = 'rss_app'
ORDER BY app, version_rank;
