-- depends: compared_with
-- A row is a run and what its cores cost, for the app and for everything, beside its history.
CREATE VIEW marts.energy_by_run AS
SELECT
    compared.run_id,
    compared.run_no,
    runs.app,
    runs.version_name,
    runs.device,
    runs.started_at,
    compared.profile_id,
    compared.duration_s,
    compared.app_mah,
    compared.total_mah,
    compared.app_mah * 3600 / compared.duration_s AS app_mah_per_h,
    compared.total_mah * 3600 / compared.duration_s AS total_mah_per_h,
    compared.total_mah * 3600 / compared.duration_s / profiles.capacity_mah AS battery_ratio_per_h,
    compared.history_count,
    compared.history_app_mah_per_h,
    compared.app_mah * 3600 / compared.duration_s / nullif(compared.history_app_mah_per_h, 0) - 1 AS app_change_ratio,
    compared.history_total_mah_per_h,
    compared.total_mah * 3600 / compared.duration_s / nullif(compared.history_total_mah_per_h, 0) - 1 AS total_change_ratio,
    runs.scenario
FROM (
    SELECT
        priced.run_id,
        priced.run_no,
        any_value(priced.profile_id) FILTER (priced.is_own) AS profile_id,
        any_value(priced.duration_s) FILTER (priced.is_own) AS duration_s,
        any_value(priced.app_mah) FILTER (priced.is_own) AS app_mah,
        any_value(priced.total_mah) FILTER (priced.is_own) AS total_mah,
        nullif(count(*) FILTER (NOT priced.is_own), 0) AS history_count,
        median(priced.app_mah * 3600 / priced.duration_s) FILTER (NOT priced.is_own) AS history_app_mah_per_h,
        median(priced.total_mah * 3600 / priced.duration_s) FILTER (NOT priced.is_own) AS history_total_mah_per_h
    FROM (
        SELECT
            wanted.run_id,
            wanted.run_no,
            wanted.priced_run_no,
            wanted.is_own,
            wanted.profile_id,
            wanted.duration_s,
            sum(spent.charge_mah) FILTER (spent.scope = 'app') AS app_mah,
            sum(spent.charge_mah) AS total_mah
        -- The run and its history as rows of one kind: a condition on runs reaches both, as it does not reach what is
        -- joined to the left.
        FROM (
            SELECT own.run_id, own.run_no, own.run_no AS priced_run_no, true AS is_own, own.profile_id, own.duration_s
            FROM core.energy_runs AS own
            WHERE own.profile_id IS NOT NULL
            UNION ALL
            SELECT members.run_id, members.run_no, members.history_run_no, false, theirs.profile_id, theirs.duration_s
            FROM marts.compared_with AS members
            JOIN core.energy_runs AS judged ON judged.run_no = members.run_no
            JOIN core.energy_runs AS theirs ON theirs.run_no = members.history_run_no AND theirs.profile_id = judged.profile_id
        ) AS wanted
        JOIN core.energies AS spent ON spent.run_no = wanted.priced_run_no
        WHERE wanted.duration_s > 0 AND spent.is_estimated AND spent.component IN ('cpu_core', 'cpu_cluster', 'cpu_active')
        GROUP BY wanted.run_id, wanted.run_no, wanted.priced_run_no, wanted.is_own, wanted.profile_id, wanted.duration_s
    ) AS priced
    GROUP BY priced.run_id, priced.run_no
    HAVING bool_or(priced.is_own)
) AS compared
JOIN core.runs AS runs ON runs.run_no = compared.run_no
LEFT JOIN core.power_profiles AS profiles ON profiles.profile_id = compared.profile_id;

COMMENT ON VIEW marts.energy_by_run IS 'A row is a run and what its cores cost by its power profile, for the app and for everything, beside the median of its history''s runs of the same profile.';
