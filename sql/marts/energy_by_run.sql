-- A row is a run and what its cores cost, for the app and for everything, beside its history.
CREATE VIEW marts.energy_by_run AS
SELECT
    costs.run_id,
    runs.app,
    runs.version_name,
    runs.device,
    runs.started_at,
    costs.profile_id,
    costs.duration_s,
    own.app_mah,
    own.total_mah,
    own.app_mah * 3600 / costs.duration_s AS app_mah_per_h,
    own.total_mah * 3600 / costs.duration_s AS total_mah_per_h,
    own.total_mah * 3600 / costs.duration_s / profiles.capacity_mah AS battery_ratio_per_h,
    history.history_count,
    history.history_app_mah_per_h,
    own.app_mah * 3600 / costs.duration_s / nullif(history.history_app_mah_per_h, 0) - 1 AS app_change_ratio,
    history.history_total_mah_per_h,
    own.total_mah * 3600 / costs.duration_s / nullif(history.history_total_mah_per_h, 0) - 1 AS total_change_ratio
FROM core.energy_runs AS costs
JOIN core.runs AS runs ON runs.run_id = costs.run_id
JOIN (
    SELECT run_id, sum(charge_mah) FILTER (WHERE scope = 'app') AS app_mah, sum(charge_mah) AS total_mah
    FROM core.energies
    WHERE is_estimated AND component IN ('cpu_core', 'cpu_cluster', 'cpu_active')
    GROUP BY run_id
) AS own ON own.run_id = costs.run_id
LEFT JOIN core.power_profiles AS profiles ON profiles.profile_id = costs.profile_id
LEFT JOIN (
    SELECT
        members.run_id,
        count(*) AS history_count,
        median(spent.app_mah * 3600 / theirs.duration_s) AS history_app_mah_per_h,
        median(spent.total_mah * 3600 / theirs.duration_s) AS history_total_mah_per_h
    FROM core.history_candidates AS members
    JOIN core.energy_runs AS judged ON judged.run_id = members.run_id
    JOIN core.energy_runs AS theirs ON theirs.run_id = members.history_run_id AND theirs.profile_id = judged.profile_id
    JOIN (
        SELECT run_id, sum(charge_mah) FILTER (WHERE scope = 'app') AS app_mah, sum(charge_mah) AS total_mah
        FROM core.energies
        WHERE is_estimated AND component IN ('cpu_core', 'cpu_cluster', 'cpu_active')
        GROUP BY run_id
    ) AS spent ON spent.run_id = members.history_run_id
    WHERE members.history_rank IS NOT NULL AND theirs.duration_s > 0
    GROUP BY members.run_id
) AS history ON history.run_id = costs.run_id
WHERE costs.profile_id IS NOT NULL AND costs.duration_s > 0;

COMMENT ON VIEW marts.energy_by_run IS 'A row is a run and what its cores cost by its power profile, for the app and for everything, beside the median of its history''s runs of the same profile.';
