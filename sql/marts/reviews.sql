-- A row is somebody's judgement of a run; none is ever deleted.
CREATE VIEW marts.reviews AS
SELECT
    given.run_id,
    runs.app,
    runs.version_name,
    given.status,
    given.note,
    given.reviewer,
    given.reviewed_at,
    row_number() OVER (PARTITION BY given.run_id ORDER BY given.reviewed_at DESC) = 1 AS is_in_force
FROM core.reviews AS given
JOIN core.runs AS runs ON runs.run_id = given.run_id;

COMMENT ON VIEW marts.reviews IS 'A row is somebody''s judgement of a run; none is ever deleted.';
COMMENT ON COLUMN marts.reviews.run_id IS 'The run.';
COMMENT ON COLUMN marts.reviews.app IS 'Android application id.';
COMMENT ON COLUMN marts.reviews.version_name IS 'Version of the app as its makers name it.';
COMMENT ON COLUMN marts.reviews.status IS 'confirmed: a regression, kept out of future histories; rejected: a false alarm; accepted: the new normal.';
COMMENT ON COLUMN marts.reviews.note IS 'What was said about it.';
COMMENT ON COLUMN marts.reviews.reviewer IS 'Who gave it.';
COMMENT ON COLUMN marts.reviews.reviewed_at IS 'When it was given (UTC).';
COMMENT ON COLUMN marts.reviews.is_in_force IS 'The last one of the run, the one that counts.';
