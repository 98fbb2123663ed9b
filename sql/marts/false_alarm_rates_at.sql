-- Measured false-alarm rates at any ω: SELECT * FROM marts.false_alarm_rates_at(0.5). At NULL: at the usual ω, those evaluated so far and the one in force. Of the detector in force, or detector := 'iqr', 'all'.
-- depends: chosen_detector, current_value, is_alarm_at, is_omega
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
        sum(judged.judged_count)::BIGINT AS judged_count,
        sum(judged.flagged_count)::BIGINT AS flagged_count,
        coalesce(sum(judged.judged_count) FILTER (WHERE judged.is_presumed_normal), 0)::BIGINT AS presumed_normal_count,
        coalesce(sum(judged.flagged_count) FILTER (WHERE judged.is_presumed_normal), 0)::BIGINT AS presumed_false_alarm_count,
        coalesce(sum(judged.flagged_count) FILTER (WHERE judged.review_status = 'rejected'), 0)::BIGINT AS rejected_alarm_count,
        coalesce(sum(judged.judged_count) FILTER (WHERE judged.review_status = 'confirmed'), 0)::BIGINT AS confirmed_count,
        coalesce(sum(judged.flagged_count) FILTER (WHERE judged.review_status = 'confirmed'), 0)::BIGINT AS confirmed_flagged_count
    FROM (
        SELECT
            alike.*,
            omegas.omega,
            len(list_filter(
                alike.possible_alarms, lambda one: marts.is_alarm_at(one.distance, one.q1, one.q3, one.is_recheck_passed, omegas.omega)
            )) AS flagged_count,
            -- As the state of a verdict: what lacks a series is not judged unless it is anomalous all the same.
            CASE WHEN alike.is_lacking THEN flagged_count ELSE alike.measured_count END AS judged_count,
            coalesce(alike.review_status, 'none') IN ('none', 'rejected') AS is_presumed_normal
        FROM (
            -- Each measurement is looked up once, not once more per ω.
            SELECT
                measured.detector,
                measured.series,
                reviews.status AS review_status,
                measured.missing_series IS NOT NULL AS is_lacking,
                count(*) AS measured_count,
                -- What is none at ω 0 is none at any.
                coalesce(list({
                    'distance': measured.distance, 'q1': measured.q1, 'q3': measured.q3, 'is_recheck_passed': measured.is_recheck_passed
                }) FILTER (WHERE marts.is_alarm_at(measured.distance, measured.q1, measured.q3, measured.is_recheck_passed, 0)), []) AS possible_alarms
            FROM core.distances AS measured
            LEFT JOIN core.reviews_in_force AS reviews ON reviews.run_no = measured.run_no
            WHERE measured.is_latest AND measured.state = 'scored'
            AND (detector::VARCHAR = 'all' OR measured.detector = marts.chosen_detector(detector))
            -- What was rejected is what is counted here; what was excluded is no run of the app.
            -- NOT IN lets the scan know the series and the detector that are asked for, NOT EXISTS does not.
            AND measured.run_no NOT IN (SELECT known.run_no FROM core.runs AS known WHERE known.is_excluded)
            GROUP BY ALL
        ) AS alike
        CROSS JOIN (
            SELECT omega::DOUBLE AS omega WHERE marts.is_omega(omega)
            UNION
            SELECT unnest([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, marts.current_value('omega')::DOUBLE]) WHERE omega::DOUBLE IS NULL
            UNION
            SELECT given.omega FROM core.verdicts AS given WHERE omega::DOUBLE IS NULL
        ) AS omegas
    ) AS judged
    WHERE judged.judged_count > 0
    GROUP BY judged.detector, judged.omega, judged.series
) AS counted;

COMMENT ON MACRO TABLE marts.false_alarm_rates_at IS 'Measured false-alarm rates at any ω, columns as marts.false_alarm_rates. SELECT * FROM marts.false_alarm_rates_at(0.5). At NULL: at the thesis'' four ω and two larger ones, those evaluated so far and the one in force. Of the detector in force, or of another, or of all: detector := ''iqr'', detector := ''all''.';
