-- A row is a reason code: why a run, trace, series or collection is not judged, and what to do.
CREATE VIEW marts.reasons AS
SELECT
    known.reason_code,
    known.sentence
FROM core.reasons AS known;

COMMENT ON VIEW marts.reasons IS 'A row is a reason code: why a run, trace, series or collection is not judged, and what to do.';
