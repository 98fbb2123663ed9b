-- Do the two detectors agree at the current ω?
SELECT iqr.is_anomalous AS iqr_says, other.is_anomalous AS default_says, count(*) AS run_count
FROM marts.run_verdicts AS iqr
JOIN marts.run_verdicts AS other ON other.run_id = iqr.run_id AND other.omega = iqr.omega
WHERE iqr.detector = 'iqr' AND other.detector = 'default' AND iqr.is_latest AND other.is_latest
    AND iqr.omega = (SELECT value::DOUBLE FROM marts.settings WHERE name = 'omega' AND is_current)
GROUP BY ALL
ORDER BY ALL;
