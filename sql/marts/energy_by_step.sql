-- A row is a step of a run's path, and what the cores cost until its action was sent.
CREATE VIEW marts.energy_by_step AS
SELECT
    costs.run_id,
    runs.app,
    runs.version_name,
    costs.own.step_index AS step_index,
    nullif(costs.own.screen, '') AS screen,
    costs.own.duration_s AS duration_s,
    costs.own.app_mah AS app_mah,
    costs.own.total_mah AS total_mah,
    costs.profile_id
FROM (SELECT run_id, profile_id, unnest(steps) AS own FROM core.energy_runs) AS costs
JOIN core.runs AS runs ON runs.run_id = costs.run_id;

COMMENT ON VIEW marts.energy_by_step IS 'A row is a step of a run''s path, in order of time, with the screen that was shown until its action was sent and what the cores cost meanwhile.';
