-- Whether a measurement is an alarm at ω: the rule fires, and the second check, if there is one, agrees.
-- depends: is_over_threshold
CREATE MACRO marts.is_alarm_at(distance, q1, q3, is_recheck_passed, omega) AS
CASE
    WHEN distance IS NOT NULL THEN marts.is_over_threshold(distance, q1, q3, omega) AND is_recheck_passed IS DISTINCT FROM false
END;

COMMENT ON MACRO marts.is_alarm_at IS 'Whether a measurement is an alarm at ω: the rule fires, and the second check, if there is one, agrees; NULL where there is no distance.';
