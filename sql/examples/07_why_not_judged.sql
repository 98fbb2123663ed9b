-- Why were runs or series not judged?
SELECT scope, reason_code, count(DISTINCT run_id) AS run_count, any_value(detail) AS for_instance
FROM marts.data_quality
WHERE is_blocking
GROUP BY scope, reason_code
ORDER BY run_count DESC, reason_code;
