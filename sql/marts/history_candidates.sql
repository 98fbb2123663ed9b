-- A row is a run that was considered for another run's history: a member with its rank, or a near miss with the reason.
CREATE VIEW marts.history_candidates AS
SELECT
    candidates.run_id,
    candidates.run_no,
    candidates.history_run_id,
    candidates.history_run_no,
    members.version_name AS history_version_name,
    members.started_at AS history_started_at,
    candidates.history_rank,
    candidates.screens_rank,
    candidates.similarity_ratio,
    candidates.exclude_reason
FROM core.history_candidates AS candidates
LEFT JOIN core.runs AS members ON members.run_no = candidates.history_run_no;

COMMENT ON VIEW marts.history_candidates IS 'A row is a run that was considered for another run''s history: a member with its rank, or a near miss with the reason.';
