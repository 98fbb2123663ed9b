-- A row is a run that says something about its version: one that a person left out, or found disturbed, does not.
CREATE VIEW marts.counted_runs AS
SELECT
    known.run_id,
    known.run_no,
    known.app,
    known.version_name,
    known.config_hash,
    known.device,
    known.started_at,
    known.scenario,
    coalesce(seen.status = 'confirmed', false) AS is_confirmed
FROM core.runs AS known
LEFT JOIN core.reviews_in_force AS seen ON seen.run_no = known.run_no
WHERE NOT known.is_quarantined AND NOT known.is_excluded AND seen.status IS DISTINCT FROM 'rejected';

COMMENT ON VIEW marts.counted_runs IS 'A row is a run that says something about its version: not quarantined, not excluded by hand, not rejected in a review.';
