-- A row is a run's history selection with the counts that explain it.
CREATE VIEW marts.history_states AS
SELECT
    histories.run_id,
    runs.app,
    runs.version_name,
    histories.state,
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
JOIN core.runs AS runs ON runs.run_id = histories.run_id;

COMMENT ON VIEW marts.history_states IS 'A row is a run''s history selection with the counts that explain it.';
COMMENT ON COLUMN marts.history_states.run_id IS 'The run that is judged.';
COMMENT ON COLUMN marts.history_states.app IS 'Android application id.';
COMMENT ON COLUMN marts.history_states.version_name IS 'Version of the app as its makers name it.';
COMMENT ON COLUMN marts.history_states.state IS 'ready, or not_enough_history.';
COMMENT ON COLUMN marts.history_states.history_size IS 'Number of runs in the history.';
COMMENT ON COLUMN marts.history_states.history_maximum IS 'k: the most it may have.';
COMMENT ON COLUMN marts.history_states.history_minimum IS 'The fewest that a verdict needs.';
COMMENT ON COLUMN marts.history_states.similarity_minimum IS 'Lowest path similarity accepted, 0 to 1.';
COMMENT ON COLUMN marts.history_states.candidate_count IS 'Other runs of the app that were considered.';
COMMENT ON COLUMN marts.history_states.excluded_counts IS 'How many were left out, by reason, as JSON.';
COMMENT ON COLUMN marts.history_states.explanation IS 'The selection in words.';
COMMENT ON COLUMN marts.history_states.parameters_hash IS 'Hash of the parameters.';
COMMENT ON COLUMN marts.history_states.code_version IS 'Version of this project that made the row.';
COMMENT ON COLUMN marts.history_states.selected_at IS 'When it was selected (UTC).';
