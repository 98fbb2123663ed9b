-- A row is a run that was considered for another run's history: a member with its rank, or a near miss with the reason.
CREATE VIEW marts.history_candidates AS
SELECT
    candidates.run_id,
    candidates.history_run_id,
    members.version_name AS history_version_name,
    members.started_at AS history_started_at,
    candidates.history_rank,
    candidates.similarity_ratio,
    candidates.exclude_reason
FROM core.history_candidates AS candidates
LEFT JOIN core.runs AS members ON members.run_id = candidates.history_run_id;

COMMENT ON VIEW marts.history_candidates IS 'A row is a run that was considered for another run''s history: a member with its rank, or a near miss with the reason.';
COMMENT ON COLUMN marts.history_candidates.run_id IS 'The run that is judged.';
COMMENT ON COLUMN marts.history_candidates.history_run_id IS 'The run that was considered.';
COMMENT ON COLUMN marts.history_candidates.history_version_name IS 'Version of the run that was considered.';
COMMENT ON COLUMN marts.history_candidates.history_started_at IS 'When the run that was considered started (UTC).';
COMMENT ON COLUMN marts.history_candidates.history_rank IS '1 is the latest; NULL for a near miss.';
COMMENT ON COLUMN marts.history_candidates.similarity_ratio IS 'Similarity of the two paths, 0 to 1; NULL when it was not needed.';
COMMENT ON COLUMN marts.history_candidates.exclude_reason IS 'other_configuration, functional_problems, incomplete_trace, path_dissimilar, not_earlier, same_version, reviewed_out, anomalous, excluded, before_accepted or beyond_size; NULL for a member.';
