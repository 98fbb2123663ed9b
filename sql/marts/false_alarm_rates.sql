-- A row is the measured false-alarm rate of a detector at one ω for a series (or whole runs, *): over the judged runs that nobody confirmed or accepted, so unreviewed alarms count as false and the rate is an upper bound.
-- depends: settings, reviews, verdict_state
CREATE VIEW marts.false_alarm_rates AS
SELECT
    judged.detector,
    judged.omega,
    judged.series,
    judged.is_current_setting,
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
        measured.detector,
        omegas.omega,
        measured.series,
        omegas.is_current_setting,
        marts.verdict_state(measured.state, measured.distance, measured.q1, measured.q3, measured.improvement, measured.is_recheck_passed, omegas.omega) = 'anomalous' AS is_anomalous,
        reviews.status AS review_status,
        coalesce(reviews.status, 'none') IN ('none', 'rejected') AS is_presumed_normal
    FROM core.distances AS measured
    CROSS JOIN (
        SELECT listed.omega, bool_or(listed.is_current_setting) AS is_current_setting
        FROM (
            SELECT unnest([0.0, 0.5, 1.0, 1.5, 2.0, 3.0]::DOUBLE[]) AS omega, false AS is_current_setting
            UNION ALL
            SELECT DISTINCT given.omega, false FROM core.verdicts AS given
            UNION ALL
            SELECT chosen."value"::DOUBLE, true FROM marts.settings AS chosen WHERE chosen.name = 'omega' AND chosen.is_current
        ) AS listed
        GROUP BY listed.omega
    ) AS omegas
    LEFT JOIN (SELECT * FROM marts.reviews AS given WHERE given.is_in_force) AS reviews ON reviews.run_id = measured.run_id
    WHERE measured.is_latest AND measured.state = 'scored'
) AS judged
GROUP BY judged.detector, judged.omega, judged.series, judged.is_current_setting;

COMMENT ON VIEW marts.false_alarm_rates IS 'A row is the measured false-alarm rate of a detector at one ω for a series (or whole runs, *): over the judged runs that nobody confirmed or accepted, so unreviewed alarms count as false and the rate is an upper bound.';
COMMENT ON COLUMN marts.false_alarm_rates.detector IS 'iqr (the thesis'' rule) or default (this project''s calibrated score).';
COMMENT ON COLUMN marts.false_alarm_rates.omega IS 'ω: the thesis'' four, those evaluated so far and the current one; any other by marts.false_alarm_rates_at(ω).';
COMMENT ON COLUMN marts.false_alarm_rates.series IS 'The series, or * for runs as a whole.';
COMMENT ON COLUMN marts.false_alarm_rates.is_current_setting IS 'The ω in force.';
COMMENT ON COLUMN marts.false_alarm_rates.judged_count IS 'Runs that were judged.';
COMMENT ON COLUMN marts.false_alarm_rates.flagged_count IS 'Runs that are anomalous at this ω.';
COMMENT ON COLUMN marts.false_alarm_rates.flagged_ratio IS 'flagged_count / judged_count, 0 to 1.';
COMMENT ON COLUMN marts.false_alarm_rates.presumed_normal_count IS 'Judged runs whose last review is neither confirmed nor accepted: taken for normal.';
COMMENT ON COLUMN marts.false_alarm_rates.presumed_false_alarm_count IS 'Of these, anomalous at this ω.';
COMMENT ON COLUMN marts.false_alarm_rates.false_alarm_ratio IS 'presumed_false_alarm_count / presumed_normal_count: the measured rate. An upper bound, because an unreviewed alarm may be a true one.';
COMMENT ON COLUMN marts.false_alarm_rates.rejected_alarm_count IS 'Alarms at this ω that a review rejected: known to be false.';
COMMENT ON COLUMN marts.false_alarm_rates.reviewed_false_alarm_ratio IS 'rejected_alarm_count / presumed_normal_count: a lower bound, only what was reviewed.';
COMMENT ON COLUMN marts.false_alarm_rates.confirmed_count IS 'Runs that a review confirmed as regressions.';
COMMENT ON COLUMN marts.false_alarm_rates.confirmed_flagged_count IS 'Of these, found at this ω.';
