-- A row is how well a detector found the place of the anomalies in a labelled data set.
CREATE VIEW marts.evaluation_localisations AS
SELECT
    entries.evaluation_id,
    entries.dataset,
    entries.protocol,
    entries.evaluated_at,
    entries.is_latest_evaluation,
    (entries.entry ->> '$.detector')::VARCHAR AS detector,
    (entries.entry ->> '$.series')::VARCHAR AS series,
    (entries.entry ->> '$.runs')::VARCHAR AS localised_runs,
    (entries.entry ->> '$.unit')::VARCHAR AS counted_unit,
    (entries.entry ->> '$.precision')::DOUBLE AS precision,
    (entries.entry ->> '$.recall')::DOUBLE AS recall,
    (entries.entry ->> '$.f1')::DOUBLE AS f1,
    (entries.entry ->> '$.lift')::DOUBLE AS lift,
    (entries.entry ->> '$.flagged_per_clean_run')::DOUBLE AS flagged_per_clean_run,
    entries.code_version
FROM (
    SELECT
        measured.evaluation_id,
        measured.dataset,
        measured.protocol,
        measured.evaluated_at,
        measured.code_version,
        measured.evaluated_at = max(measured.evaluated_at) OVER () AS is_latest_evaluation,
        unnest(from_json(measured.result -> '$.localisation', '["JSON"]')) AS entry
    FROM core.evaluations AS measured
    WHERE measured.protocol <> 'power'
) AS entries;

COMMENT ON VIEW marts.evaluation_localisations IS 'A row is how well a detector found the place of the anomalies in a labelled data set.';
