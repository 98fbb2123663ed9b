-- A time that a tool wrote without its zone stands as if it were UTC's: east of Greenwich it was up to 14 hours earlier.
CREATE MACRO marts.earliest_start(started_at, environment) AS
started_at - CASE WHEN environment ->> '$.started_at_is' = 'the machine''s own, taken as UTC' THEN INTERVAL 14 HOUR ELSE INTERVAL 0 HOUR END;

COMMENT ON MACRO marts.earliest_start IS 'The earliest moment that the start of benchmark results can stand for: where the tool told it without a zone, 14 hours before.';
