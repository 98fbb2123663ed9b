-- The threshold that the rule compares with at ω: q3 + ω (q3 − q1), the only place where it is computed.
CREATE MACRO marts.threshold_at(q1, q3, omega) AS
q3 + omega * (q3 - q1);

COMMENT ON MACRO marts.threshold_at IS 'The threshold that the rule compares with at ω: q3 + ω (q3 − q1), in the unit of the distances.';
