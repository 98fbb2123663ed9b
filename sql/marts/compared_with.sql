-- A row is a run that another one is judged beside by the detector in force, or would be once there are enough: of its history, or of any path.
-- depends: current_value, way_of
CREATE VIEW marts.compared_with AS
SELECT
    told.run_id,
    told.run_no,
    told.history_run_id,
    told.history_run_no,
    told.way,
    CASE told.way WHEN 'any_path' THEN told.screens_rank ELSE told.history_rank END AS compared_rank
FROM (
    SELECT
        candidates.run_id,
        candidates.run_no,
        candidates.history_run_id,
        candidates.history_run_no,
        candidates.history_rank,
        candidates.screens_rank,
        marts.way_of(known.way, known.fallback, sets.way) AS way
    FROM core.history_candidates AS candidates
    JOIN core.history_sets AS sets ON sets.run_no = candidates.run_no
    LEFT JOIN core.detectors AS known ON known.detector = marts.current_value('detector')
) AS told
WHERE compared_rank IS NOT NULL;

COMMENT ON VIEW marts.compared_with IS 'A row is a run that another one is judged beside by the detector in force: of its history, or, where that has too few members or the detector goes by screens, of any path.';
