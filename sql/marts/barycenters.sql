-- A row is the barycenter that a run's series is compared with.
CREATE VIEW marts.barycenters AS
SELECT
    assigned.run_id,
    assigned.series,
    assigned.barycenter_id,
    centers."values",
    centers.inertia,
    centers.iteration_count,
    centers.backend,
    centers.seconds,
    centers.code_version,
    centers.computed_at
FROM core.run_barycenters AS assigned
JOIN core.barycenters AS centers ON centers.barycenter_id = assigned.barycenter_id;

COMMENT ON VIEW marts.barycenters IS 'A row is the barycenter that a run''s series is compared with.';
COMMENT ON COLUMN marts.barycenters.run_id IS 'The run that is judged.';
COMMENT ON COLUMN marts.barycenters.series IS 'Name of the series, such as cpu_app or rss_app.';
COMMENT ON COLUMN marts.barycenters.barycenter_id IS 'Key of the barycenter: hash of its input series and parameters.';
COMMENT ON COLUMN marts.barycenters."values" IS 'The barycenter, one value per interval of the grid, in the unit of the series.';
COMMENT ON COLUMN marts.barycenters.inertia IS 'Sum of squared DTW distances of the history to it.';
COMMENT ON COLUMN marts.barycenters.iteration_count IS 'Iterations until the fixed point.';
COMMENT ON COLUMN marts.barycenters.backend IS 'Which implementation computed it.';
COMMENT ON COLUMN marts.barycenters.seconds IS 'Time it took, seconds.';
COMMENT ON COLUMN marts.barycenters.code_version IS 'Version of this project that made the row.';
COMMENT ON COLUMN marts.barycenters.computed_at IS 'When it was computed (UTC).';
