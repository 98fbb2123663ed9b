-- A row is a verdict on a run as a whole, by a detector, at one ω.
-- depends: verdicts
CREATE VIEW marts.run_verdicts AS
SELECT
    verdicts.run_id,
    verdicts.app,
    verdicts.version_name,
    verdicts.started_at,
    verdicts.detector,
    verdicts.omega,
    verdicts.state,
    verdicts.is_anomalous,
    verdicts.distance,
    verdicts.threshold,
    verdicts.excess_ratio,
    verdicts.critical_omega,
    verdicts.p_value,
    verdicts.history_size,
    verdicts.explanation,
    verdicts.is_current,
    verdicts.is_latest,
    verdicts.evaluated_at,
    verdicts.parameters_hash
FROM marts.verdicts AS verdicts
WHERE verdicts.series = '*';

COMMENT ON VIEW marts.run_verdicts IS 'A row is a verdict on a run as a whole, by a detector, at one ω: all judged series together, with the detector''s own correction for their number.';
COMMENT ON COLUMN marts.run_verdicts.run_id IS 'The run that is judged.';
COMMENT ON COLUMN marts.run_verdicts.app IS 'Android application id.';
COMMENT ON COLUMN marts.run_verdicts.version_name IS 'Version of the app.';
COMMENT ON COLUMN marts.run_verdicts.started_at IS 'When the run started (UTC).';
COMMENT ON COLUMN marts.run_verdicts.detector IS 'iqr or default.';
COMMENT ON COLUMN marts.run_verdicts.omega IS 'ω: how many interquartile ranges above q3 the threshold lies.';
COMMENT ON COLUMN marts.run_verdicts.state IS 'anomalous, normal, improved, not_enough_history, incomplete_trace or series_missing.';
COMMENT ON COLUMN marts.run_verdicts.is_anomalous IS 'NULL where nothing was judged.';
COMMENT ON COLUMN marts.run_verdicts.distance IS 'iqr: distance of the series furthest out; default: score corrected for the number of series.';
COMMENT ON COLUMN marts.run_verdicts.threshold IS 'q3 + ω (q3 − q1), same unit as distance.';
COMMENT ON COLUMN marts.run_verdicts.excess_ratio IS 'distance / threshold: above 1 the rule fires; NULL when the threshold is 0 or less.';
COMMENT ON COLUMN marts.run_verdicts.critical_omega IS 'The rule fires at every ω below this one.';
COMMENT ON COLUMN marts.run_verdicts.p_value IS 'Chance of such a distance without a regression; NULL where the detector has none.';
COMMENT ON COLUMN marts.run_verdicts.history_size IS 'Number of runs in the history.';
COMMENT ON COLUMN marts.run_verdicts.explanation IS 'The verdict in words.';
COMMENT ON COLUMN marts.run_verdicts.is_current IS 'The configured detector at the configured ω with the latest parameters: one row per run.';
COMMENT ON COLUMN marts.run_verdicts.is_latest IS 'Measured with the latest parameters of this run and detector, at whatever ω.';
COMMENT ON COLUMN marts.run_verdicts.evaluated_at IS 'When the verdict was first given so (UTC).';
COMMENT ON COLUMN marts.run_verdicts.parameters_hash IS 'Hash of all parameters of detector and history.';
