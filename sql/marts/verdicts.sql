-- A row is a verdict that was given: on a run's series (or the run, series '*'), by a detector, at one ω.
-- depends: settings, verdict_explanation
CREATE VIEW marts.verdicts AS
SELECT
    measured.run_id,
    runs.app,
    runs.version_name,
    runs.started_at,
    measured.series,
    measured.detector,
    given.omega,
    given.state,
    given.is_anomalous,
    measured.distance,
    measured.q1,
    measured.q3,
    measured.q3 + given.omega * (measured.q3 - measured.q1) AS threshold,
    CASE
        WHEN measured.q3 + given.omega * (measured.q3 - measured.q1) > 0
        THEN measured.distance / (measured.q3 + given.omega * (measured.q3 - measured.q1))
    END AS excess_ratio,
    CASE
        WHEN measured.q3 > measured.q1 THEN (measured.distance - measured.q3) / (measured.q3 - measured.q1)
        WHEN measured.distance > measured.q3 THEN 'inf'::DOUBLE
        WHEN measured.distance <= measured.q3 THEN '-inf'::DOUBLE
    END AS critical_omega,
    measured.direction,
    marts.verdict_explanation(
        measured.series, measured.detector, given.state, measured.state_reason, measured.evidence_text,
        measured.distance, measured.q1, measured.q3, measured.improvement, measured.is_recheck_passed,
        measured.history_size, given.omega
    ) AS explanation,
    (
        measured.is_latest
        AND measured.detector = (SELECT chosen."value" FROM marts.settings AS chosen WHERE chosen.name = 'detector' AND chosen.is_current)
        AND given.omega = (SELECT chosen."value"::DOUBLE FROM marts.settings AS chosen WHERE chosen.name = 'omega' AND chosen.is_current)
    ) AS is_current,
    given.evaluated_at,
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
FROM core.verdicts AS given
JOIN core.distances AS measured ON measured.distance_id = given.distance_id
JOIN core.runs AS runs ON runs.run_id = measured.run_id;

COMMENT ON VIEW marts.verdicts IS 'A row is a verdict that was given: on a run''s series, or on the run as a whole (series *), by a detector, at one ω. Verdicts at earlier ω stay, and so do those on measurements with earlier parameters (is_latest is false).';
COMMENT ON COLUMN marts.verdicts.run_id IS 'The run that is judged.';
COMMENT ON COLUMN marts.verdicts.app IS 'Android application id.';
COMMENT ON COLUMN marts.verdicts.version_name IS 'Version of the app.';
COMMENT ON COLUMN marts.verdicts.started_at IS 'When the run started (UTC).';
COMMENT ON COLUMN marts.verdicts.series IS 'The series, or * for the run as a whole.';
COMMENT ON COLUMN marts.verdicts.detector IS 'iqr: DTW distance to the history''s barycenter (the thesis); default: this project''s calibrated score.';
COMMENT ON COLUMN marts.verdicts.omega IS 'ω: how many interquartile ranges above q3 the threshold lies.';
COMMENT ON COLUMN marts.verdicts.state IS 'anomalous, normal, improved, not_enough_history, incomplete_trace or series_missing.';
COMMENT ON COLUMN marts.verdicts.is_anomalous IS 'NULL where nothing was judged.';
COMMENT ON COLUMN marts.verdicts.distance IS 'd. iqr: DTW distance, in the unit of the series; default: standard normal score of the p-value.';
COMMENT ON COLUMN marts.verdicts.q1 IS 'First quartile of the history''s own distances, same unit as distance.';
COMMENT ON COLUMN marts.verdicts.q3 IS 'Third quartile of the history''s own distances, same unit as distance.';
COMMENT ON COLUMN marts.verdicts.threshold IS 'q3 + ω (q3 − q1), same unit as distance.';
COMMENT ON COLUMN marts.verdicts.excess_ratio IS 'distance / threshold: above 1 the rule fires; NULL when the threshold is 0 or less.';
COMMENT ON COLUMN marts.verdicts.critical_omega IS 'The rule fires at every ω below this one: (distance − q3) / (q3 − q1).';
COMMENT ON COLUMN marts.verdicts.direction IS 'Whether the run does more or less than its history.';
COMMENT ON COLUMN marts.verdicts.explanation IS 'The verdict in words, with the numbers of the rule.';
COMMENT ON COLUMN marts.verdicts.is_current IS 'The configured detector at the configured ω with the latest parameters: one row per run and series.';
COMMENT ON COLUMN marts.verdicts.evaluated_at IS 'When the verdict was first given so (UTC).';
COMMENT ON COLUMN marts.verdicts.is_latest IS 'Measured with the latest parameters of this run, series and detector, at whatever ω.';
COMMENT ON COLUMN marts.verdicts.improvement IS 'The same as distance for less load; NULL where the detector has no such side.';
COMMENT ON COLUMN marts.verdicts.is_recheck_passed IS 'false: a second check takes the alarm away; NULL: there is no second check.';
COMMENT ON COLUMN marts.verdicts.p_value IS 'Chance of such a distance without a regression; NULL where the detector has none.';
COMMENT ON COLUMN marts.verdicts.history_size IS 'Number of runs in the history.';
COMMENT ON COLUMN marts.verdicts.k IS 'The most runs that the history could have.';
COMMENT ON COLUMN marts.verdicts.interval_s IS 'Width of an interval of the series, seconds.';
COMMENT ON COLUMN marts.verdicts.barycenter_id IS 'The barycenter compared with; see marts.barycenters.';
COMMENT ON COLUMN marts.verdicts.parameters_hash IS 'Hash of all parameters of detector and history.';
COMMENT ON COLUMN marts.verdicts.input_hash IS 'Hash of all input series.';
COMMENT ON COLUMN marts.verdicts.engine_version IS 'Version of the trace processor behind the series.';
COMMENT ON COLUMN marts.verdicts.code_version IS 'Version of this project that measured the distance.';
