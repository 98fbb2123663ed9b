-- The rule solved for ω: at every ω below this one the verdict is anomalous, at no other.
CREATE MACRO marts.critical_omega(distance, q1, q3, is_recheck_passed) AS
CASE
    WHEN distance IS NULL OR q1 IS NULL OR q3 IS NULL THEN NULL
    WHEN is_recheck_passed = false THEN '-inf'::DOUBLE
    WHEN q3 > q1 THEN (distance - q3) / (q3 - q1)
    WHEN distance > q3 THEN 'inf'::DOUBLE
    ELSE '-inf'::DOUBLE
END;

COMMENT ON MACRO marts.critical_omega IS 'The rule solved for ω: a verdict is anomalous at every ω below (distance − q3) / (q3 − q1). −inf: at none, because a second check takes every alarm away, or the history has no spread and the distance is not above it; inf: at every ω.';
