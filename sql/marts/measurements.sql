-- A row is a value without a time axis that was measured of a run or another subject, or why there is none.
CREATE VIEW marts.measurements AS
SELECT
    measured.subject_kind,
    measured.subject_id,
    measured.run_no,
    measured.metric,
    measured.app,
    measured.version_name,
    measured.unit,
    measured.worse,
    measured."value",
    measured.reason,
    measured.provenance,
    measured.code_version,
    measured.measured_at
FROM core.measurements AS measured;

COMMENT ON VIEW marts.measurements IS 'A row is a value without a time axis that was measured of a run or another subject, or why there is none.';
