-- From which ω on would each version be free of alarms?
SELECT app, version_name, ceil(100 * critical_omega_max) / 100 AS free_of_alarms_from_omega
FROM marts.regressions_by_version
WHERE series = '*' AND judged_count > 0
ORDER BY app, version_rank;
