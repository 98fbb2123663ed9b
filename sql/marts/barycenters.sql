-- A row is the barycenter that a run's series is compared with.
CREATE VIEW marts.barycenters AS
SELECT
    assigned.run_id,
    assigned.run_no,
    assigned.series,
    assigned.barycenter_id,
    stored."values",
    centers.inertia,
    centers.iteration_count,
    centers.backend,
    centers.seconds,
    centers.code_version,
    centers.computed_at
FROM core.run_barycenters AS assigned
JOIN core.barycenters AS centers ON centers.barycenter_id = assigned.barycenter_id
LEFT JOIN core.barycenter_values AS stored
    ON stored.values_file = centers.values_file AND stored.barycenter_id = centers.barycenter_id;

COMMENT ON VIEW marts.barycenters IS 'A row is the barycenter that a run''s series is compared with.';
