-- A row is a step of a run's path, and what the cores cost until its action was sent.
CREATE VIEW marts.energy_by_step AS
SELECT
    costs.run_id,
    costs.run_no,
    runs.app,
    runs.version_name,
    own.step_index,
    nullif(own.screen, '') AS screen,
    own.duration_s,
    own.app_mah,
    own.total_mah,
    costs.profile_id
FROM core.energy_runs AS costs
JOIN core.runs AS runs ON runs.run_no = costs.run_no
JOIN core.energy_step_values AS own ON own.values_file = costs.values_file AND own.run_id = costs.run_id;

COMMENT ON VIEW marts.energy_by_step IS 'A row is a step of a run''s path, in order of time, with the screen that was shown until its action was sent and what the cores cost meanwhile.';
