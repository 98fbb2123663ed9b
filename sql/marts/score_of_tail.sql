-- The standard-normal score with an upper tail probability, to nine digits (Acklam's rational functions).
CREATE MACRO marts.score_of_tail(tail) AS
list_transform([CASE WHEN tail IS NOT NULL THEN greatest(6.22096057427e-16, least(1 - 6.22096057427e-16, tail::DOUBLE)) END], lambda p: sign(0.5 - p) * CASE
    WHEN p IS NULL THEN NULL
    WHEN least(p, 1 - p) < 0.02425 THEN list_transform(
        [sqrt(-2 * ln(least(p, 1 - p)))],
        lambda q: -(((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838e+00) * q - 2.549732539343734e+00) * q
            + 4.374664141464968e+00) * q + 2.938163982698783e+00)
        / ((((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996e+00) * q + 3.754408661415863e+00) * q + 1)
    )[1]
    ELSE list_transform(
        [abs(p - 0.5)],
        lambda q: list_transform(
            [q * q],
            lambda r: q * (((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r + 1.383577518672690e+02) * r
                - 3.066479806614716e+01) * r + 2.506628277459239e+00)
            / (((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r + 6.680131188771972e+01) * r
                - 1.328068155288572e+01) * r + 1)
        )[1]
    )[1]
END)[1];

COMMENT ON MACRO marts.score_of_tail IS 'The standard-normal score with an upper tail probability, to nine digits; within ±8.';
