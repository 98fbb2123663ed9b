-- Which runs look like a memory leak?
SELECT run_id, version_name, round(growth_per_s / 1e6, 3) AS growth_mb_per_s, round(maximum / 1e6, 1) AS peak_mb
FROM marts.series_levels
WHERE series = 'rss_app' AND growth_per_s > 0.1e6
ORDER BY growth_per_s DESC;
