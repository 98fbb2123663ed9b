-- Why are runs left out of histories?
SELECT exclude_reason, count(*) AS times, count(DISTINCT history_run_id) AS run_count
FROM marts.history_candidates
WHERE exclude_reason IS NOT NULL
GROUP BY exclude_reason
ORDER BY times DESC;
