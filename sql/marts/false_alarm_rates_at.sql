-- Measured false-alarm rates at any ω, columns as marts.false_alarm_rates without is_current_setting. SELECT * FROM marts.false_alarm_rates_at(0.5).
-- depends: verdicts_at, reviews
CREATE MACRO marts.false_alarm_rates_at(omega) AS TABLE
SELECT
    judged.detector,
    judged.omega,
    judged.series,
    count(*) AS judged_count,
    count(*) FILTER (WHERE judged.is_anomalous) AS flagged_count,
    count(*) FILTER (WHERE judged.is_anomalous) / count(*) AS flagged_ratio,
    count(*) FILTER (WHERE judged.is_presumed_normal) AS presumed_normal_count,
    count(*) FILTER (WHERE judged.is_presumed_normal AND judged.is_anomalous) AS presumed_false_alarm_count,
    count(*) FILTER (WHERE judged.is_presumed_normal AND judged.is_anomalous)
        / nullif(count(*) FILTER (WHERE judged.is_presumed_normal), 0) AS false_alarm_ratio,
    count(*) FILTER (WHERE judged.review_status = 'rejected' AND judged.is_anomalous) AS rejected_alarm_count,
    count(*) FILTER (WHERE judged.review_status = 'rejected' AND judged.is_anomalous)
        / nullif(count(*) FILTER (WHERE judged.is_presumed_normal), 0) AS reviewed_false_alarm_ratio,
    count(*) FILTER (WHERE judged.review_status = 'confirmed') AS confirmed_count,
    count(*) FILTER (WHERE judged.review_status = 'confirmed' AND judged.is_anomalous) AS confirmed_flagged_count
FROM (
    SELECT
        verdicts.detector,
        verdicts.omega,
        verdicts.series,
        verdicts.is_anomalous,
        reviews.status AS review_status,
        coalesce(reviews.status, 'none') IN ('none', 'rejected') AS is_presumed_normal
    FROM marts.verdicts_at(omega) AS verdicts
    LEFT JOIN (SELECT * FROM marts.reviews AS given WHERE given.is_in_force) AS reviews ON reviews.run_id = verdicts.run_id
    WHERE verdicts.is_latest AND verdicts.is_anomalous IS NOT NULL
) AS judged
GROUP BY judged.detector, judged.omega, judged.series;

COMMENT ON MACRO TABLE marts.false_alarm_rates_at IS 'Measured false-alarm rates at any ω, columns as marts.false_alarm_rates without is_current_setting. SELECT * FROM marts.false_alarm_rates_at(0.5).';
