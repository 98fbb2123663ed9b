-- The rule: anomalous when distance > q3 + ω (q3 − q1) and no second check took the alarm away.
CREATE MACRO marts.verdict_state(measured_state, distance, q1, q3, improvement, is_recheck_passed, omega) AS
CASE
    WHEN measured_state <> 'scored' THEN measured_state
    WHEN distance > q3 + omega * (q3 - q1) AND is_recheck_passed IS DISTINCT FROM false THEN 'anomalous'
    WHEN improvement > q3 + omega * (q3 - q1) THEN 'improved'
    ELSE 'normal'
END;

COMMENT ON MACRO marts.verdict_state IS 'State of a verdict at ω: anomalous when distance > q3 + ω (q3 − q1) and the second check, if there is one, agrees; improved when the same holds for less load; otherwise normal, or why nothing was measured.';
