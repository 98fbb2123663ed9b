-- A row is the measured quality of a detector on a labelled data set, for one ω or level, series, kind and severity of anomaly (all: pooled).
CREATE VIEW marts.evaluations AS
SELECT
    entries.evaluation_id,
    entries.dataset,
    entries.protocol,
    entries.evaluated_at,
    entries.is_latest,
    entries.repeats,
    entries.history,
    entries.seed,
    (entries.entry ->> '$.detector')::VARCHAR AS detector,
    (entries.entry ->> '$.omega')::DOUBLE AS omega,
    (entries.entry ->> '$.level')::DOUBLE AS level,
    (entries.entry ->> '$.series')::VARCHAR AS series,
    (entries.entry ->> '$.anomaly_kind')::VARCHAR AS anomaly_kind,
    (entries.entry ->> '$.severity')::VARCHAR AS severity,
    (entries.entry ->> '$.tp')::DOUBLE AS tp,
    (entries.entry ->> '$.tn')::DOUBLE AS tn,
    (entries.entry ->> '$.fp')::DOUBLE AS fp,
    (entries.entry ->> '$.fn')::DOUBLE AS fn,
    (entries.entry ->> '$.precision')::DOUBLE AS precision,
    (entries.entry ->> '$.recall')::DOUBLE AS recall,
    (entries.entry ->> '$.f1')::DOUBLE AS f1,
    (entries.entry ->> '$.false_positive_rate')::DOUBLE AS false_positive_rate,
    (entries.entry ->> '$.mcc')::DOUBLE AS mcc,
    (entries.entry ->> '$.roc_auc')::DOUBLE AS roc_auc,
    (entries.entry ->> '$.average_precision')::DOUBLE AS average_precision,
    entries.code_version
FROM (
    SELECT
        measured.evaluation_id,
        measured.dataset,
        measured.protocol,
        measured.evaluated_at,
        measured.code_version,
        measured.evaluated_at = max(measured.evaluated_at) OVER () AS is_latest,
        (measured.result ->> '$.repeats')::INTEGER AS repeats,
        (measured.result ->> '$.history')::INTEGER AS history,
        (measured.result ->> '$.seed')::BIGINT AS seed,
        unnest(from_json(measured.result -> '$.rows', '["JSON"]')) AS entry
    FROM core.evaluations AS measured
) AS entries;

COMMENT ON VIEW marts.evaluations IS 'A row is the measured quality of a detector on a labelled data set, for one ω or level, series, kind and severity of anomaly (all: pooled).';
COMMENT ON COLUMN marts.evaluations.evaluation_id IS 'Key of the measurement.';
COMMENT ON COLUMN marts.evaluations.dataset IS 'Name of the labelled data set.';
COMMENT ON COLUMN marts.evaluations.protocol IS 'How it was measured.';
COMMENT ON COLUMN marts.evaluations.evaluated_at IS 'When it was measured (UTC).';
COMMENT ON COLUMN marts.evaluations.is_latest IS 'Of the measurement made last.';
COMMENT ON COLUMN marts.evaluations.repeats IS 'How often histories were drawn.';
COMMENT ON COLUMN marts.evaluations.history IS 'Runs per history.';
COMMENT ON COLUMN marts.evaluations.seed IS 'Seed of the draws.';
COMMENT ON COLUMN marts.evaluations.detector IS 'iqr (the thesis'' rule) or default (this project''s calibrated score).';
COMMENT ON COLUMN marts.evaluations.omega IS 'ω; NULL where the detector has none.';
COMMENT ON COLUMN marts.evaluations.level IS 'Significance level; NULL where the detector has none.';
COMMENT ON COLUMN marts.evaluations.series IS 'Series, or all.';
COMMENT ON COLUMN marts.evaluations.anomaly_kind IS 'Kind of anomaly, or all.';
COMMENT ON COLUMN marts.evaluations.severity IS 'Severity of the anomaly, or all.';
COMMENT ON COLUMN marts.evaluations.tp IS 'True positives, mean over the repeats.';
COMMENT ON COLUMN marts.evaluations.tn IS 'True negatives, mean over the repeats.';
COMMENT ON COLUMN marts.evaluations.fp IS 'False positives, mean over the repeats.';
COMMENT ON COLUMN marts.evaluations.fn IS 'False negatives, mean over the repeats.';
COMMENT ON COLUMN marts.evaluations.precision IS 'tp / (tp + fp), 0 to 1.';
COMMENT ON COLUMN marts.evaluations.recall IS 'tp / (tp + fn), 0 to 1.';
COMMENT ON COLUMN marts.evaluations.f1 IS 'Harmonic mean of precision and recall.';
COMMENT ON COLUMN marts.evaluations.false_positive_rate IS 'fp / (fp + tn), 0 to 1.';
COMMENT ON COLUMN marts.evaluations.mcc IS 'Matthews correlation coefficient, -1 to 1.';
COMMENT ON COLUMN marts.evaluations.roc_auc IS 'Area under the ROC curve.';
COMMENT ON COLUMN marts.evaluations.average_precision IS 'Area under the precision-recall curve.';
COMMENT ON COLUMN marts.evaluations.code_version IS 'Version of this project that made the row.';
