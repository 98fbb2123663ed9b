-- Verdicts recomputed at any ω, from stored distances: SELECT * FROM marts.verdicts_at(0.5).
-- depends: settings, verdict_state, verdict_explanation
CREATE MACRO marts.verdicts_at(omega) AS TABLE
SELECT
    measured.distance_id,
    measured.run_id,
    runs.app,
    runs.version_name,
    runs.started_at,
    measured.series,
    measured.detector,
    omega::DOUBLE AS omega,
    marts.verdict_state(measured.state, measured.distance, measured.q1, measured.q3, measured.improvement, measured.is_recheck_passed, omega::DOUBLE) AS state,
    CASE
        WHEN measured.state = 'scored'
        THEN marts.verdict_state(measured.state, measured.distance, measured.q1, measured.q3, measured.improvement, measured.is_recheck_passed, omega::DOUBLE) = 'anomalous'
    END AS is_anomalous,
    measured.distance,
    measured.q1,
    measured.q3,
    measured.q3 + omega::DOUBLE * (measured.q3 - measured.q1) AS threshold,
    CASE
        WHEN measured.q3 + omega::DOUBLE * (measured.q3 - measured.q1) > 0
        THEN measured.distance / (measured.q3 + omega::DOUBLE * (measured.q3 - measured.q1))
    END AS excess_ratio,
    CASE
        WHEN measured.q3 > measured.q1 THEN (measured.distance - measured.q3) / (measured.q3 - measured.q1)
        WHEN measured.distance > measured.q3 THEN 'inf'::DOUBLE
        WHEN measured.distance <= measured.q3 THEN '-inf'::DOUBLE
    END AS critical_omega,
    measured.direction,
    marts.verdict_explanation(
        measured.series, measured.detector,
        marts.verdict_state(measured.state, measured.distance, measured.q1, measured.q3, measured.improvement, measured.is_recheck_passed, omega::DOUBLE),
        measured.state_reason, measured.evidence_text, measured.distance, measured.q1, measured.q3, measured.improvement,
        measured.is_recheck_passed, measured.history_size, omega::DOUBLE
    ) AS explanation,
    (
        measured.is_latest
        AND measured.detector = (SELECT chosen."value" FROM marts.settings AS chosen WHERE chosen.name = 'detector' AND chosen.is_current)
        AND omega::DOUBLE = (SELECT chosen."value"::DOUBLE FROM marts.settings AS chosen WHERE chosen.name = 'omega' AND chosen.is_current)
    ) AS is_current,
    now() AS evaluated_at,
    measured.is_latest,
    measured.improvement,
    measured.is_recheck_passed,
    measured.p_value,
    measured.history_size,
    measured.k,
    measured.interval_s,
    measured.barycenter_id,
    measured.parameters_hash,
    measured.input_hash,
    measured.engine_version,
    measured.code_version
FROM core.distances AS measured
JOIN core.runs AS runs ON runs.run_id = measured.run_id;

COMMENT ON MACRO TABLE marts.verdicts_at IS 'Verdicts recomputed at any ω from stored distances, columns as marts.verdicts; nothing is stored. SELECT * FROM marts.verdicts_at(0.5) WHERE is_latest.';
