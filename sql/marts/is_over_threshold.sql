-- The rule: a distance fires at ω when it is above the threshold; NULL where there is no distance.
-- depends: threshold_at
CREATE MACRO marts.is_over_threshold(distance, q1, q3, omega) AS
distance > marts.threshold_at(q1, q3, omega);

COMMENT ON MACRO marts.is_over_threshold IS 'The rule: whether a distance is above the threshold q3 + ω (q3 − q1); NULL where there is no distance.';
