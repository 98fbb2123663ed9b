-- Do the detectors agree about whole runs at the current ω?
SELECT one.detector, other.detector AS other_detector, one.state, other.state AS other_state, count(*) AS run_count
FROM marts.run_verdicts AS one
JOIN marts.run_verdicts AS other ON other.run_id = one.run_id AND other.omega = one.omega AND other.detector > one.detector
WHERE one.is_latest AND other.is_latest AND one.omega = marts.current_value('omega')::DOUBLE
GROUP BY ALL
ORDER BY ALL;
