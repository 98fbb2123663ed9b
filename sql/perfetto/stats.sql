-- What went wrong while recording or reading the trace: every counter above 0 of the two severities that matter.
SELECT name, severity, sum(value) AS value
FROM stats
WHERE severity IN ('error', 'data_loss') AND value > 0
GROUP BY name, severity
ORDER BY name;
