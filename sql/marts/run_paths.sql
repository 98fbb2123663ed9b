-- A row is a step of a run's path: where the explorer was until it sent an action, and what it did.
CREATE VIEW marts.run_paths AS
SELECT
    runs.run_id,
    runs.run_no,
    runs.app,
    runs.version_name,
    steps.step,
    (steps.ts_ns - coalesce(grids.start_ns, runs.exploration_start_ns)) / 1e9 AS offset_s,
    steps.ts_ns,
    steps.state_hash,
    steps.screen,
    steps.action,
    steps.screen_after,
    steps.state_hash_after
FROM core.runs AS runs
JOIN core.path_steps AS steps ON steps.values_file = runs.values_file AND steps.run_id = runs.run_id
LEFT JOIN (
    SELECT series.run_id, series.run_no, min(series.start_ns) AS start_ns FROM core.time_series AS series GROUP BY series.run_id, series.run_no
) AS grids ON grids.run_id = runs.run_id AND grids.run_no = runs.run_no
WHERE NOT runs.is_quarantined;

COMMENT ON VIEW marts.run_paths IS 'A row is a step of a run''s path: where the explorer was until it sent an action, and what it did. What the action led to is the next step''s screen; after the last step it is unknown unless screen_after says it.';
