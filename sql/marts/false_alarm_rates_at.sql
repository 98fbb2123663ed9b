-- Measured false-alarm rates at any ω: SELECT * FROM marts.false_alarm_rates_at(0.5). At NULL: at the usual ω, those evaluated so far and the one in force. Of the detector in force, or detector := 'iqr', 'all'.
-- depends: chosen_detector, current_value, is_anomalous_state, is_omega, reviews, verdict_state
CREATE MACRO marts.false_alarm_rates_at(omega, detector := NULL) AS TABLE
SELECT
    counted.detector,
    counted.omega,
    counted.series,
    counted.omega = marts.current_value('omega')::DOUBLE AS is_current_setting,
    counted.judged_count,
    counted.flagged_count,
    counted.flagged_count / counted.judged_count AS flagged_ratio,
    counted.presumed_normal_count,
    counted.presumed_false_alarm_count,
    counted.presumed_false_alarm_count / nullif(counted.presumed_normal_count, 0) AS false_alarm_ratio,
    counted.rejected_alarm_count,
    counted.rejected_alarm_count / nullif(counted.presumed_normal_count, 0) AS reviewed_false_alarm_ratio,
    counted.confirmed_count,
    counted.confirmed_flagged_count
FROM (
    SELECT
        judged.detector,
        judged.omega,
        judged.series,
        count(*) AS judged_count,
        count(*) FILTER (WHERE judged.is_flagged) AS flagged_count,
        count(*) FILTER (WHERE judged.is_presumed_normal) AS presumed_normal_count,
        count(*) FILTER (WHERE judged.is_presumed_normal AND judged.is_flagged) AS presumed_false_alarm_count,
        count(*) FILTER (WHERE judged.review_status = 'rejected' AND judged.is_flagged) AS rejected_alarm_count,
        count(*) FILTER (WHERE judged.review_status = 'confirmed') AS confirmed_count,
        count(*) FILTER (WHERE judged.review_status = 'confirmed' AND judged.is_flagged) AS confirmed_flagged_count
    FROM (
        SELECT
            measured.detector,
            omegas.omega,
            measured.series,
            marts.is_anomalous_state(marts.verdict_state(
                measured.state, measured.distance, measured.q1, measured.q3, measured.improvement, measured.uncorrected_distance,
                measured.missing_series, measured.is_recheck_passed, omegas.omega
            )) AS is_flagged,
            reviews.status AS review_status,
            coalesce(reviews.status, 'none') IN ('none', 'rejected') AS is_presumed_normal
        FROM core.distances AS measured
        CROSS JOIN (
            SELECT omega::DOUBLE AS omega WHERE marts.is_omega(omega)
            UNION
            SELECT unnest([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, marts.current_value('omega')::DOUBLE]) WHERE omega::DOUBLE IS NULL
            UNION
            SELECT given.omega FROM core.verdicts AS given WHERE omega::DOUBLE IS NULL
        ) AS omegas
        LEFT JOIN (SELECT * FROM marts.reviews AS given WHERE given.is_in_force) AS reviews ON reviews.run_id = measured.run_id
        WHERE measured.is_latest AND (detector::VARCHAR = 'all' OR measured.detector = marts.chosen_detector(detector))
    ) AS judged
    WHERE judged.is_flagged IS NOT NULL
    GROUP BY judged.detector, judged.omega, judged.series
) AS counted;

COMMENT ON MACRO TABLE marts.false_alarm_rates_at IS 'Measured false-alarm rates at any ω, columns as marts.false_alarm_rates. SELECT * FROM marts.false_alarm_rates_at(0.5). At NULL: at the thesis'' four ω and two larger ones, those evaluated so far and the one in force. Of the detector in force, or of another, or of all: detector := ''iqr'', detector := ''all''.';
