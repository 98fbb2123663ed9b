-- Which runs are anomalous now, and why, in words?
SELECT run_id, version_name, review_status, run_explanation
FROM marts.runs
WHERE is_anomalous
ORDER BY started_at DESC;
