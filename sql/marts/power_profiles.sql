-- A row is a power profile that was added for a device, or that runs were estimated by.
CREATE VIEW marts.power_profiles AS
SELECT
    profiles.profile_id,
    profiles.device_name,
    profiles.profile_name,
    profiles.profile_origin,
    profiles.dialect,
    profiles.energy_source,
    profiles.cluster_count,
    profiles.first_cores,
    profiles.core_count,
    profiles.active_ma,
    profiles.base_ma,
    profiles.capacity_mah,
    (
        SELECT count(*)
        FROM core.energy_runs AS costs
        JOIN core.runs AS runs ON runs.run_no = costs.run_no
        WHERE costs.profile_id = profiles.profile_id AND NOT runs.is_quarantined
    ) AS run_count,
    profiles.added_at,
    profiles.removed_at
FROM core.power_profiles AS profiles;

COMMENT ON VIEW marts.power_profiles IS 'A row is a power profile that was added for a device, or that runs were estimated by: what the cores of a device draw.';
