-- How many times its threshold a distance is at ω; NULL where the threshold is 0 or less.
-- depends: threshold_at
CREATE MACRO marts.excess_ratio_at(distance, q1, q3, omega) AS
CASE WHEN marts.threshold_at(q1, q3, omega) > 0 THEN distance / marts.threshold_at(q1, q3, omega) END;

COMMENT ON MACRO marts.excess_ratio_at IS 'distance / threshold at ω: above 1 the rule fires; NULL where the threshold is 0 or less.';
