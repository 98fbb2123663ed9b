-- Why are runs left out of histories?
SELECT counted.key AS exclude_reason, sum(counted.value::BIGINT)::BIGINT AS times, count(*) AS run_count
FROM marts.history_states AS states, json_each(states.excluded_counts) AS counted
WHERE counted.value::BIGINT > 0
GROUP BY counted.key
ORDER BY times DESC, exclude_reason;
