-- A row is a run in another run's history.
CREATE VIEW marts.history_sets AS
SELECT
    candidates.run_id,
    runs.app,
    runs.version_name,
    candidates.history_run_id,
    members.version_name AS history_version_name,
    members.started_at AS history_started_at,
    candidates.history_rank,
    candidates.similarity_ratio
FROM core.history_candidates AS candidates
JOIN core.runs AS runs ON runs.run_id = candidates.run_id
LEFT JOIN core.runs AS members ON members.run_id = candidates.history_run_id
WHERE candidates.history_rank IS NOT NULL;

COMMENT ON VIEW marts.history_sets IS 'A row is a run in another run''s history.';
COMMENT ON COLUMN marts.history_sets.run_id IS 'The run that is judged.';
COMMENT ON COLUMN marts.history_sets.app IS 'Android application id.';
COMMENT ON COLUMN marts.history_sets.version_name IS 'Version of the run that is judged.';
COMMENT ON COLUMN marts.history_sets.history_run_id IS 'The earlier run that it is compared with.';
COMMENT ON COLUMN marts.history_sets.history_version_name IS 'Version of the earlier run.';
COMMENT ON COLUMN marts.history_sets.history_started_at IS 'When the earlier run started (UTC).';
COMMENT ON COLUMN marts.history_sets.history_rank IS '1 is the latest.';
COMMENT ON COLUMN marts.history_sets.similarity_ratio IS 'Ratcliff-Obershelp similarity of the two paths, 0 to 1.';
