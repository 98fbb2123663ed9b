-- A row is a run that another one is judged beside: of its history, or, where that has too few members, of any path.
CREATE VIEW marts.compared_with AS
SELECT
    candidates.run_id,
    candidates.history_run_id,
    coalesce(sets.way, 'path') AS way,
    CASE sets.way WHEN 'any_path' THEN candidates.screens_rank ELSE candidates.history_rank END AS compared_rank
FROM core.history_candidates AS candidates
JOIN core.history_sets AS sets ON sets.run_id = candidates.run_id
WHERE compared_rank IS NOT NULL;

COMMENT ON VIEW marts.compared_with IS 'A row is a run that another one is judged beside: of its history, or, where that has too few members, of any path.';
