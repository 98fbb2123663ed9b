-- A row is a run's history selection with the counts that explain it.
-- depends: current_value, way_of
CREATE VIEW marts.history_states AS
SELECT
    histories.run_id,
    histories.run_no,
    runs.app,
    runs.version_name,
    histories.state,
    marts.way_of(known.way, known.fallback, histories.way) AS way,
    histories.history_size,
    histories.history_maximum,
    histories.history_minimum,
    histories.similarity_minimum,
    histories.candidate_count,
    histories.excluded_counts,
    histories.explanation,
    histories.parameters_hash,
    histories.code_version,
    histories.selected_at
FROM core.history_sets AS histories
JOIN core.runs AS runs ON runs.run_no = histories.run_no
LEFT JOIN core.detectors AS known ON known.detector = marts.current_value('detector');

COMMENT ON VIEW marts.history_states IS 'A row is a run''s history selection with the counts that explain it.';
