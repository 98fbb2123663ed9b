-- Verdicts recomputed at any ω, from stored distances: SELECT * FROM marts.verdicts_at(0.5). At NULL: those that were given, each at its ω. Of the detector in force, or detector := 'iqr', 'all'.
-- depends: chosen_detector, critical_omega, current_value, excess_ratio_at, is_anomalous_state, is_omega, threshold_at, verdict_explanation, verdict_state
CREATE MACRO marts.verdicts_at(omega, detector := NULL) AS TABLE
SELECT
    judged.run_id,
    judged.run_no,
    runs.app,
    runs.version_name,
    runs.started_at,
    judged.series,
    judged.detector,
    judged.omega,
    judged.verdict_state AS state,
    marts.is_anomalous_state(judged.verdict_state) AS is_anomalous,
    judged.distance,
    judged.q1,
    judged.q3,
    marts.threshold_at(judged.q1, judged.q3, judged.omega) AS threshold,
    marts.excess_ratio_at(judged.distance, judged.q1, judged.q3, judged.omega) AS excess_ratio,
    marts.critical_omega(judged.distance, judged.q1, judged.q3, judged.is_recheck_passed) AS critical_omega,
    judged.direction,
    marts.verdict_explanation(
        judged.series, coalesce(known.scale, 'score'), judged.verdict_state, judged.state, judged.state_reason, judged.evidence_text,
        judged.distance, judged.q1, judged.q3, judged.improvement, judged.uncorrected_distance,
        judged.missing_series, coalesce(beside.judged_series, 'nothing else'), judged.is_recheck_passed, judged.history_size, judged.omega
    ) AS explanation,
    (
        judged.is_latest
        AND judged.detector = marts.current_value('detector')
        AND judged.omega = marts.current_value('omega')::DOUBLE
    ) AS is_current,
    judged.evaluated_at,
    judged.is_latest,
    judged.improvement,
    judged.uncorrected_distance,
    CASE WHEN judged.series = '*' THEN coalesce(judged.missing_series, []) END AS missing_series,
    judged.is_recheck_passed,
    judged.p_value,
    judged.history_size,
    judged.k,
    judged.interval_s,
    judged.barycenter_id,
    judged.parameters_hash,
    judged.input_hash,
    judged.engine_version,
    judged.code_version,
    judged.distance_id::VARCHAR AS distance_id,
    judged.distance_id AS distance_no
FROM (
    -- The planner drops the half that cannot be.
    SELECT measured.*, given.omega, given.state AS verdict_state, given.evaluated_at
    FROM core.verdicts AS given
    -- By the number of the run, too: what is asked of some runs then reaches their verdicts, which else are all read.
    JOIN core.distances AS measured ON measured.distance_id = given.distance_id AND measured.run_no = given.run_no
    WHERE omega::DOUBLE IS NULL AND (detector::VARCHAR = 'all' OR measured.detector = marts.chosen_detector(detector))
    UNION ALL
    SELECT
        measured.*,
        omega::DOUBLE,
        marts.verdict_state(
            measured.state, measured.distance, measured.q1, measured.q3, measured.improvement, measured.uncorrected_distance,
            measured.missing_series, measured.is_recheck_passed, omega::DOUBLE
        ),
        now()
    FROM core.distances AS measured
    WHERE marts.is_omega(omega) AND (detector::VARCHAR = 'all' OR measured.detector = marts.chosen_detector(detector))
) AS judged
JOIN core.runs AS runs ON runs.run_no = judged.run_no
LEFT JOIN core.detectors AS known ON known.detector = judged.detector
LEFT JOIN (
    SELECT parts.run_id, parts.run_no, parts.detector, parts.parameters_hash, string_agg(parts.series, ', ' ORDER BY parts.series) AS judged_series
    FROM core.distances AS parts
    WHERE parts.series <> '*' AND parts.state = 'scored'
        AND parts.run_id IN (SELECT whole.run_id FROM core.distances AS whole WHERE whole.missing_series IS NOT NULL)
    GROUP BY parts.run_id, parts.run_no, parts.detector, parts.parameters_hash
) AS beside
    ON beside.run_no = judged.run_no AND beside.detector = judged.detector AND beside.parameters_hash = judged.parameters_hash
    AND judged.series = '*';

COMMENT ON MACRO TABLE marts.verdicts_at IS 'Verdicts recomputed at any ω from stored distances, columns as marts.verdicts; nothing is stored. SELECT * FROM marts.verdicts_at(0.5) WHERE is_latest. At NULL: the verdicts that were given, each at its own ω. Of the detector in force, or of another, or of all: detector := ''iqr'', detector := ''all''.';
