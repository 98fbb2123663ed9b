-- Whether an ω was given: false for NULL, an error for what is none.
CREATE MACRO marts.is_omega(omega) AS
CASE
    WHEN omega::DOUBLE IS NULL THEN false
    WHEN isfinite(omega::DOUBLE) AND omega::DOUBLE >= 0 THEN true
    ELSE error('ω is a finite number and not below 0, not ' || omega)
END;

COMMENT ON MACRO marts.is_omega IS 'Whether an ω was given: false for NULL, an error for what is none.';
