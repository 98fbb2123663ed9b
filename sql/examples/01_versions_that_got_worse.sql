-- Which versions got worse, and in what?
SELECT app, version_name, series, anomalous_count, judged_count, round(anomalous_ratio, 2) AS anomalous_ratio, worst_run_id
FROM marts.regressions_by_version
WHERE anomalous_count > 0
ORDER BY app, version_rank, anomalous_ratio DESC, series;
