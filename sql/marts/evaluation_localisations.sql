-- A row is how well a detector found the place of the anomalies in a labelled data set.
CREATE VIEW marts.evaluation_localisations AS
SELECT
    entries.evaluation_id,
    entries.dataset,
    entries.protocol,
    entries.evaluated_at,
    entries.is_latest,
    (entries.entry ->> '$.detector')::VARCHAR AS detector,
    (entries.entry ->> '$.series')::VARCHAR AS series,
    (entries.entry ->> '$.unit')::VARCHAR AS unit,
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
        measured.evaluated_at = max(measured.evaluated_at) OVER () AS is_latest,
        unnest(from_json(measured.result -> '$.localisation', '["JSON"]')) AS entry
    FROM core.evaluations AS measured
) AS entries;

COMMENT ON VIEW marts.evaluation_localisations IS 'A row is how well a detector found the place of the anomalies in a labelled data set.';
COMMENT ON COLUMN marts.evaluation_localisations.evaluation_id IS 'Key of the measurement.';
COMMENT ON COLUMN marts.evaluation_localisations.dataset IS 'Name of the labelled data set.';
COMMENT ON COLUMN marts.evaluation_localisations.protocol IS 'How it was measured.';
COMMENT ON COLUMN marts.evaluation_localisations.evaluated_at IS 'When it was measured (UTC).';
COMMENT ON COLUMN marts.evaluation_localisations.is_latest IS 'Of the measurement made last.';
COMMENT ON COLUMN marts.evaluation_localisations.detector IS 'iqr (the thesis'' rule) or default (this project''s calibrated score).';
COMMENT ON COLUMN marts.evaluation_localisations.series IS 'Series, or all.';
COMMENT ON COLUMN marts.evaluation_localisations.unit IS 'What was counted: seconds or events.';
COMMENT ON COLUMN marts.evaluation_localisations.precision IS 'Share of what was marked that is anomalous, 0 to 1.';
COMMENT ON COLUMN marts.evaluation_localisations.recall IS 'Share of what is anomalous that was marked, 0 to 1.';
COMMENT ON COLUMN marts.evaluation_localisations.f1 IS 'Harmonic mean of precision and recall.';
COMMENT ON COLUMN marts.evaluation_localisations.lift IS 'Precision over that of marking at random.';
COMMENT ON COLUMN marts.evaluation_localisations.flagged_per_clean_run IS 'What is marked in a run without anomaly.';
COMMENT ON COLUMN marts.evaluation_localisations.code_version IS 'Version of this project that made the row.';
