-- Student's t with the tail probability of a standard-normal score (Wallace 1959), as methods/repeats.py has it.
CREATE MACRO marts.t_of_score(score, degrees) AS
sign(score) * sqrt(degrees * (exp(power(score * (8 * degrees + 3) / (8 * degrees + 1), 2) / degrees) - 1));

COMMENT ON MACRO marts.t_of_score IS 'Student''s t with the tail probability of a standard-normal score, of so many degrees of freedom; Wallace''s formula.';
