-- A row is somebody's judgement of a run, or that one is withdrawn; none is ever deleted.
CREATE VIEW marts.reviews AS
SELECT
    given.run_id,
    given.run_no,
    runs.app,
    runs.version_name,
    given.status,
    given.note,
    given.reviewer,
    given.reviewed_at,
    given.status <> 'withdrawn'
    AND row_number() OVER (PARTITION BY given.run_id, given.run_no ORDER BY given.reviewed_at DESC) = 1 AS is_in_force
FROM core.reviews AS given
JOIN core.runs AS runs ON runs.run_no = given.run_no;

COMMENT ON VIEW marts.reviews IS 'A row is somebody''s judgement of a run, or that one is withdrawn; none is ever deleted.';
