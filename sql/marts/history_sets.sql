-- A row is a run in another run's history.
CREATE VIEW marts.history_sets AS
SELECT
    candidates.run_id,
    candidates.run_no,
    runs.app,
    runs.version_name,
    candidates.history_run_id,
    candidates.history_run_no,
    members.version_name AS history_version_name,
    members.started_at AS history_started_at,
    candidates.history_rank,
    candidates.similarity_ratio
FROM core.history_candidates AS candidates
JOIN core.runs AS runs ON runs.run_no = candidates.run_no
LEFT JOIN core.runs AS members ON members.run_no = candidates.history_run_no
WHERE candidates.history_rank IS NOT NULL;

COMMENT ON VIEW marts.history_sets IS 'A row is a run in another run''s history.';
