-- Do the detectors agree about whole runs at the current ω?
WITH judged AS MATERIALIZED (
    SELECT run_id, detector, state
    FROM marts.verdicts_at(marts.current_value('omega')::DOUBLE, detector := 'all')
    WHERE is_latest AND series = '*'
)
SELECT one.detector, other.detector AS other_detector, one.state, other.state AS other_state, count(*) AS run_count
FROM judged AS one
JOIN judged AS other ON other.run_id = one.run_id AND other.detector > one.detector
GROUP BY ALL
ORDER BY ALL;
