-- Upper tail probability of a standard-normal score, to seven digits (Press et al., Numerical Recipes, erfcc).
-- A lambda binds what is used often: a macro's argument is copied to each place, and macros within macros multiply.
CREATE MACRO marts.tail_of_score(score) AS
list_transform([score::DOUBLE], lambda z: CASE WHEN z >= 0 THEN 0 ELSE 1 END + sign(z) * list_transform(
    [1 / (1 + abs(z) / sqrt(8))],
    lambda u: u / 2 * exp(
        -z * z / 2 - 1.26551223 + u * (1.00002368 + u * (0.37409196 + u * (0.09678418 + u * (-0.18628806 + u * (0.27886807
        + u * (-1.13520398 + u * (1.48851587 + u * (-0.82215223 + u * 0.17087277))))))))
    )
)[1] + CASE WHEN z = 0 THEN 0.5 ELSE 0 END)[1];

COMMENT ON MACRO marts.tail_of_score IS 'Upper tail probability of a standard-normal score, to seven digits.';
