-- A row is what a detector measured about a run's series: all that a verdict at any ω needs, with the threshold at the one in force.
-- depends: critical_omega, current_value, disturbances, threshold_at
CREATE VIEW marts.distances AS
SELECT
    measured.run_id,
    measured.run_no,
    runs.app,
    runs.version_name,
    runs.started_at,
    measured.series,
    measured.detector,
    measured.state,
    measured.state_reason,
    measured.distance,
    measured.q1,
    measured.q3,
    marts.threshold_at(measured.q1, measured.q3, marts.current_value('omega')::DOUBLE) AS threshold,
    marts.critical_omega(measured.distance, measured.q1, measured.q3, measured.is_recheck_passed) AS critical_omega,
    measured.improvement,
    measured.uncorrected_distance,
    CASE WHEN measured.series = '*' THEN coalesce(measured.missing_series, []) END AS missing_series,
    measured.is_recheck_passed,
    measured.p_value,
    measured.direction,
    measured.history_distances,
    measured.history_size,
    measured.evidence,
    -- What disturbed the run is found later than the evidence, and belongs to it.
    CASE
        WHEN measured.evidence_text IS NULL OR NOT measured.is_latest OR disturbed.disturbance IS NULL THEN measured.evidence_text
        ELSE concat(rtrim(measured.evidence_text, '. '), '; ', disturbed.disturbance)
    END AS evidence_text,
    (measured.is_latest AND measured.detector = marts.current_value('detector')) AS is_current,
    measured.is_latest,
    measured.barycenter_id,
    measured.parameters_hash,
    measured.input_hash,
    measured.k,
    measured.interval_s,
    measured.engine_version,
    measured.code_version,
    measured.measured_at
FROM core.distances AS measured
JOIN core.runs AS runs ON runs.run_no = measured.run_no
LEFT JOIN marts.disturbances AS disturbed ON disturbed.run_no = measured.run_no AND disturbed.series = measured.series;

COMMENT ON VIEW marts.distances IS 'A row is what a detector measured about a run''s series: all that a verdict at any ω needs, with the threshold at the one in force.';
