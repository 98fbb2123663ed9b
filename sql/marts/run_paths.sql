-- A row is a step of a run's path: where the explorer was and what it did.
CREATE VIEW marts.run_paths AS
SELECT
    steps.run_id,
    steps.app,
    steps.version_name,
    steps.entry.step AS step,
    (steps.entry.ts_ns - steps.origin_ns) / 1e9 AS offset_s,
    steps.entry.ts_ns AS ts_ns,
    steps.entry.state_hash AS state_hash,
    steps.entry.screen AS screen,
    steps.entry.action AS action
FROM (
    SELECT runs.run_id, runs.app, runs.version_name, coalesce(grids.start_ns, runs.exploration_start_ns) AS origin_ns, unnest(runs.path) AS entry
    FROM core.runs AS runs
    LEFT JOIN (
        SELECT series.run_id, min(series.start_ns) AS start_ns FROM core.time_series AS series GROUP BY series.run_id
    ) AS grids ON grids.run_id = runs.run_id
    WHERE NOT runs.is_quarantined
) AS steps;

COMMENT ON VIEW marts.run_paths IS 'A row is a step of a run''s path: where the explorer was and what it did.';
