-- State of a verdict at ω. Missing data is never normal, and nothing is improved while a series is over its own uncorrected threshold.
-- depends: is_alarm_at, is_over_threshold
CREATE MACRO marts.verdict_state(measured_state, distance, q1, q3, improvement, uncorrected_distance, missing_series, is_recheck_passed, omega) AS
CASE
    WHEN measured_state <> 'scored' THEN measured_state
    WHEN marts.is_alarm_at(distance, q1, q3, is_recheck_passed, omega) THEN 'anomalous'
    WHEN len(missing_series) > 0 THEN 'series_missing'
    WHEN marts.is_over_threshold(improvement, q1, q3, omega)
        AND NOT marts.is_over_threshold(coalesce(uncorrected_distance, distance), q1, q3, omega) THEN 'improved'
    ELSE 'normal'
END;

COMMENT ON MACRO marts.verdict_state IS 'State of a verdict at ω: anomalous when the rule fires and the second check, if there is one, agrees; series_missing when a judged series is missing although the history has it; improved when the rule fires for less load and for no series without its correction; otherwise normal, or why nothing was measured.';
