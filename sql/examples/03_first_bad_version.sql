-- In which version did each series first go wrong in at least half of its runs?
SELECT app, series, arg_min(version_name, version_rank) AS first_bad_version
FROM marts.regressions_by_version
WHERE anomalous_ratio >= 0.5
GROUP BY app, series
ORDER BY app, series;
