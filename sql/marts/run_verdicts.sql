-- A row is a verdict on a run as a whole, by a detector, at one ω.
-- depends: verdicts
CREATE VIEW marts.run_verdicts AS
SELECT
    verdicts.run_id,
    verdicts.run_no,
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
    verdicts.missing_series,
    verdicts.history_size,
    verdicts.explanation,
    verdicts.is_current,
    verdicts.is_latest,
    verdicts.evaluated_at,
    verdicts.parameters_hash
FROM marts.verdicts AS verdicts
WHERE verdicts.series = '*';

COMMENT ON VIEW marts.run_verdicts IS 'A row is a verdict on a run as a whole, by a detector, at one ω: all judged series together, with the detector''s own correction for their number.';
