-- Which runs are furthest over their threshold, and do they do more or less than before?
SELECT run_id, version_name, series, direction, round(excess_ratio, 2) AS times_threshold
FROM marts.verdicts
WHERE is_current AND series <> '*' AND is_anomalous
ORDER BY excess_ratio DESC
LIMIT 10;
