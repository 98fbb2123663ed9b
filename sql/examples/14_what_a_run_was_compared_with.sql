-- What was the latest anomalous run compared with?
SELECT run_id, history_rank, history_run_id, history_version_name, round(similarity_ratio, 3) AS similarity_ratio
FROM marts.history_sets
WHERE run_id = (SELECT arg_max(run_id, started_at) FROM marts.runs WHERE is_anomalous)
ORDER BY history_rank;
