-- A row is what one phase of the pipeline cost for a run.
CREATE VIEW marts.timings AS
SELECT
    spent.run_id,
    spent.run_no,
    runs.app,
    runs.version_name,
    spent.phase,
    spent.seconds,
    spent.measured_at
FROM core.timings AS spent
JOIN core.runs AS runs ON runs.run_no = spent.run_no;

COMMENT ON VIEW marts.timings IS 'A row is what one phase of the pipeline cost for a run.';
