-- A row is the measured quality of a detector on a labelled data set, for one ω or level, series, kind and severity of anomaly (all: pooled).
CREATE VIEW marts.evaluations AS
SELECT
    entries.evaluation_id,
    entries.dataset,
    entries.protocol,
    entries.evaluated_at,
    entries.is_latest_evaluation,
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
        measured.evaluated_at = max(measured.evaluated_at) OVER () AS is_latest_evaluation,
        (measured.result ->> '$.repeats')::INTEGER AS repeats,
        (measured.result ->> '$.history')::INTEGER AS history,
        (measured.result ->> '$.seed')::BIGINT AS seed,
        unnest(from_json(measured.result -> '$.rows', '["JSON"]')) AS entry
    FROM core.evaluations AS measured
    WHERE measured.protocol <> 'power'
) AS entries;

COMMENT ON VIEW marts.evaluations IS 'A row is the measured quality of a detector on a labelled data set, for one ω or level, series, kind and severity of anomaly (all: pooled).';
