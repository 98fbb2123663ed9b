-- A row is what one phase of the pipeline cost for a run.
CREATE VIEW marts.timings AS
SELECT
    spent.run_id,
    runs.app,
    runs.version_name,
    spent.phase,
    spent.seconds,
    spent.measured_at
FROM core.timings AS spent
JOIN core.runs AS runs ON runs.run_id = spent.run_id;

COMMENT ON VIEW marts.timings IS 'A row is what one phase of the pipeline cost for a run.';
COMMENT ON COLUMN marts.timings.run_id IS 'The run.';
COMMENT ON COLUMN marts.timings.app IS 'Android application id.';
COMMENT ON COLUMN marts.timings.version_name IS 'Version of the app as its makers name it.';
COMMENT ON COLUMN marts.timings.phase IS 'engine, series, history, model, verdict, warehouse, …';
COMMENT ON COLUMN marts.timings.seconds IS 'Time it took, seconds.';
COMMENT ON COLUMN marts.timings.measured_at IS 'When it was measured (UTC).';
