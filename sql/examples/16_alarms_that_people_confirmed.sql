-- How many of the reviewed alarms were true?
SELECT app, count(*) AS reviewed_alarm_count, count(*) FILTER (WHERE review_status <> 'rejected') AS true_alarm_count,
    round(count(*) FILTER (WHERE review_status <> 'rejected') / count(*), 2) AS precision_ratio
FROM marts.runs
WHERE is_anomalous AND review_status IS NOT NULL
GROUP BY app
ORDER BY app;
