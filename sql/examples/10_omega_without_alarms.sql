-- From which ω on would no run of a version raise an alarm by itself?
SELECT app, version_name, greatest(0, ceil(100 * critical_omega_max) / 100) AS free_of_alarms_from_omega
FROM marts.regressions_by_version
WHERE series = '*' AND judged_count > 0
ORDER BY app, version_rank;
