-- Verdicts on benchmark results at any ω, from stored distances: SELECT * FROM marts.benchmark_verdicts_at(0.5). At NULL: at the ω in force. Of the detector in force, or detector := 'iqr', 'all'.
-- depends: chosen_detector, current_value, excess_ratio_at, critical_omega, is_anomalous_state, is_omega, is_over_threshold, threshold_at, verdict_state, benchmark_results
CREATE MACRO marts.benchmark_verdicts_at(omega, detector := NULL) AS TABLE
SELECT
    judged.benchmark_run_id,
    judged.app,
    judged.version_name,
    judged.device,
    judged.variant,
    judged.runner,
    judged.started_at,
    judged.area,
    judged.benchmark,
    judged.params,
    judged.metric,
    judged.result_name,
    judged.unit,
    judged.worse,
    judged.score,
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
    judged.improvement,
    judged.is_recheck_passed,
    judged.p_value,
    judged.history_size,
    judged.earlier_low,
    judged.earlier_median,
    judged.earlier_high,
    judged.score / judged.earlier_median - 1 AS score_change_ratio,
    CASE
        WHEN judged.measured_state <> 'scored' THEN judged.state_reason
        ELSE concat(
            judged.evidence_text, CASE judged.verdict_state WHEN 'anomalous' THEN ': anomalous, ' WHEN 'improved' THEN ': improved, ' ELSE ': normal, ' END,
            coalesce(judged.scale, 'score'), ' ',
            format('{:.4g}', CASE WHEN judged.verdict_state = 'improved' THEN judged.improvement ELSE judged.distance END),
            format(' beside the threshold {:.4g} at ω {:.4g}', marts.threshold_at(judged.q1, judged.q3, judged.omega), judged.omega),
            CASE
                WHEN judged.verdict_state = 'normal' AND judged.is_recheck_passed = false AND marts.is_over_threshold(judged.distance, judged.q1, judged.q3, judged.omega)
                THEN '; it is above it, but by less than benchmark_change_minimum' ELSE ''
            END,
            '.'
        )
    END AS explanation,
    judged.detector = marts.current_value('detector') AND judged.omega = marts.current_value('omega')::DOUBLE AS is_current,
    judged.input_hash,
    judged.code_version
FROM (
    SELECT
        results.*,
        measured.detector,
        known.scale,
        coalesce(omega::DOUBLE, marts.current_value('omega')::DOUBLE) AS omega,
        measured.state AS measured_state,
        measured.state_reason,
        measured.distance,
        measured.q1,
        measured.q3,
        measured.improvement,
        measured.is_recheck_passed,
        measured.p_value,
        measured.history_size,
        measured.earlier_low,
        measured.earlier_median,
        measured.earlier_high,
        measured.evidence_text,
        inputs.input_hash,
        inputs.code_version,
        marts.verdict_state(
            measured.state, measured.distance, measured.q1, measured.q3, measured.improvement, NULL, NULL, measured.is_recheck_passed,
            coalesce(omega::DOUBLE, marts.current_value('omega')::DOUBLE)
        ) AS verdict_state
    FROM core.benchmark_distances AS measured
    JOIN marts.benchmark_results AS results
        ON results.benchmark_run_id = measured.benchmark_run_id AND results.result_name = measured.result_name
    LEFT JOIN core.detectors AS known ON known.detector = measured.detector
    LEFT JOIN core.benchmark_judged AS inputs ON inputs.benchmark_run_id = measured.benchmark_run_id
    WHERE (omega::DOUBLE IS NULL OR marts.is_omega(omega)) AND (detector::VARCHAR = 'all' OR measured.detector = marts.chosen_detector(detector))
) AS judged;

COMMENT ON MACRO TABLE marts.benchmark_verdicts_at IS 'Verdicts on benchmark results recomputed at any ω from stored distances; nothing is stored. SELECT * FROM marts.benchmark_verdicts_at(0.5). At NULL: at the ω in force. Of the detector in force, or of another, or of all: detector := ''iqr'', detector := ''all''.';
