-- The standard-normal score with the tail probability of Student's t (Wallace 1959), as methods/repeats.py has it.
CREATE MACRO marts.score_of_t(t, degrees) AS
CASE WHEN t IS NOT NULL THEN greatest(-8, least(8, sign(t) * (8 * degrees + 1) / (8 * degrees + 3) * sqrt(degrees * ln(1 + t * t / degrees)))) END;

COMMENT ON MACRO marts.score_of_t IS 'The standard-normal score, within ±8, with the tail probability of Student''s t of so many degrees of freedom; Wallace''s formula.';
