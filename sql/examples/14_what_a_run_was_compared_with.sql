-- What was the latest anomalous run compared with?
SELECT compared.run_id, compared.way, compared.compared_rank, compared.history_run_id, earlier.version_name AS history_version_name,
    round(candidates.similarity_ratio, 3) AS similarity_ratio
FROM marts.compared_with AS compared
JOIN marts.runs AS earlier ON earlier.run_id = compared.history_run_id
JOIN marts.history_candidates AS candidates ON candidates.run_id = compared.run_id AND candidates.history_run_id = compared.history_run_id
WHERE compared.run_id = (SELECT arg_max(run_id, (started_at, run_id)) FROM marts.runs WHERE is_anomalous)
ORDER BY compared.compared_rank;
