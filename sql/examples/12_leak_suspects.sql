-- Which runs look like a memory leak: in which did memory grow more than in three quarters of the runs they are compared with?
SELECT levels.run_id, levels.version_name, round(levels.growth_per_s / 1e6, 3) AS growth_mb_per_s,
    round(median(earlier.growth_per_s) / 1e6, 3) AS usual_mb_per_s, round(levels.maximum / 1e6, 1) AS peak_mb,
    count(*) FILTER (WHERE earlier.growth_per_s < levels.growth_per_s) AS grew_less_count, count(*) AS compared_count, verdicts.state
FROM marts.series_levels AS levels
JOIN marts.compared_with AS compared ON compared.run_no = levels.run_no
JOIN marts.series_levels AS earlier ON earlier.run_no = compared.history_run_no AND earlier.series = levels.series
JOIN marts.verdicts AS verdicts ON verdicts.run_no = levels.run_no AND verdicts.series = levels.series AND verdicts.is_current
WHERE levels.series = 'rss_app'
GROUP BY levels.run_id, levels.version_name, levels.growth_per_s, levels.maximum, verdicts.state, verdicts.excess_ratio
HAVING grew_less_count >= 0.75 * compared_count AND growth_mb_per_s > 0
ORDER BY verdicts.excess_ratio DESC NULLS LAST, growth_mb_per_s DESC;
