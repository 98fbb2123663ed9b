-- A row is what a component cost in a run, and for whom.
CREATE VIEW marts.energies AS
SELECT
    energies.run_id,
    energies.run_no,
    runs.app,
    runs.version_name,
    energies.component,
    energies.scope,
    energies.energy_source,
    energies.energy_source AS source,
    energies.charge_mah,
    energies.energy_mj,
    energies.is_estimated,
    energies.profile_id,
    costs.is_foreign_profile
FROM core.energies AS energies
JOIN core.runs AS runs ON runs.run_no = energies.run_no
LEFT JOIN core.energy_runs AS costs ON costs.run_no = energies.run_no;

COMMENT ON VIEW marts.energies IS 'A row is what a component cost in a run, and for whom. Over cpu_core, cpu_cluster and cpu_active of one source, app + others + wakeups are all that the cores cost; base is the whole device''s floor and rail_… what it measured, neither part of that sum, nor is cpu_core of time_in_state, an upper bound where the trace has no frequencies.';
