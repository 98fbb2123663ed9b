-- What the cores of all runs cost by another power profile: SELECT * FROM marts.energies_at('<profile_id>').
CREATE MACRO marts.energies_at(power_profile) AS TABLE
SELECT
    summed.run_id,
    summed.run_no,
    runs.app,
    runs.version_name,
    unnest(['cpu_core', 'cpu_cluster', 'cpu_active']) AS component,
    summed.scope,
    summed.energy_source,
    summed.energy_source AS source,
    unnest([summed.core_mas, summed.cluster_mas, summed.active_mas]) / 3600 AS charge_mah,
    unnest([summed.core_mas, summed.cluster_mas, summed.active_mas]) * summed.nominal_voltage_v AS energy_mj,
    true AS is_estimated,
    summed.profile_id,
    summed.fit_ratio < 0.99 AS is_foreign_profile,
    summed.fit_ratio
FROM (
    SELECT
        spent.run_id,
        spent.run_no,
        spent.scope,
        profiles.profile_id,
        profiles.energy_source,
        costs.nominal_voltage_v,
        spent.core_mas,
        spent.cluster_mas,
        spent.active_s * profiles.active_ma AS active_mas,
        sum(spent.known_s) OVER (PARTITION BY spent.run_id) / sum(spent.busy_s) OVER (PARTITION BY spent.run_id) AS fit_ratio
    FROM (
        SELECT
            times.run_id,
            times.run_no,
            times.scope,
            sum(times.busy_s * priced.charge_ma) AS core_mas,
            sum(times.cluster_share_s * priced.cluster_charge_ma) AS cluster_mas,
            sum(times.active_share_s) AS active_s,
            sum(times.busy_s) AS busy_s,
            sum(CASE WHEN priced.is_known THEN times.busy_s ELSE 0 END) AS known_s
        FROM core.time_in_state AS times
        -- Few states are priced once, not every row.
        JOIN (
            SELECT
                seen.cluster,
                seen.frequency_khz,
                seen.frequency_khz = levels.frequency_khz AS is_known,
                levels.cluster_charge_ma,
                CASE
                    WHEN levels.next_khz IS NULL THEN levels.charge_ma
                    ELSE levels.charge_ma + (levels.next_ma - levels.charge_ma)
                        * (seen.frequency_khz - levels.frequency_khz) / (levels.next_khz - levels.frequency_khz)
                END AS charge_ma
            FROM (
                SELECT DISTINCT
                    every.cluster,
                    every.frequency_khz,
                    CASE WHEN wanted.first_cores IS NULL AND wanted.cluster_count = 1 THEN 0 ELSE every.cluster END AS table_cluster
                FROM core.time_in_state AS every
                JOIN core.power_profiles AS wanted ON wanted.profile_id = power_profile
            ) AS seen
            -- Below a table its first value holds: a row at 0 kHz says so.
            ASOF JOIN (
                SELECT
                    steps.cluster,
                    steps.frequency_khz,
                    steps.charge_ma,
                    steps.cluster_charge_ma,
                    lead(steps.frequency_khz) OVER by_frequency AS next_khz,
                    lead(steps.charge_ma) OVER by_frequency AS next_ma
                FROM (
                    SELECT known.cluster, known.frequency_khz, known.charge_ma, known.cluster_charge_ma
                    FROM core.power_levels AS known
                    WHERE known.profile_id = power_profile
                    UNION ALL
                    SELECT first.cluster, 0, arg_min(first.charge_ma, first.frequency_khz), any_value(first.cluster_charge_ma)
                    FROM core.power_levels AS first
                    WHERE first.profile_id = power_profile
                    GROUP BY first.cluster
                ) AS steps
                WINDOW by_frequency AS (PARTITION BY steps.cluster ORDER BY steps.frequency_khz)
            ) AS levels
                ON levels.cluster = seen.table_cluster AND seen.frequency_khz >= levels.frequency_khz
        ) AS priced
            ON priced.cluster = times.cluster AND priced.frequency_khz = times.frequency_khz
        GROUP BY times.run_id, times.run_no, times.scope
    ) AS spent
    JOIN core.energy_runs AS costs ON costs.run_no = spent.run_no
    JOIN core.power_profiles AS profiles
        ON profiles.profile_id = power_profile
        AND (
            profiles.first_cores = costs.first_cores
            OR profiles.first_cores IS NULL AND profiles.cluster_count IN (1, len(costs.first_cores))
        )
) AS summed
JOIN core.runs AS runs ON runs.run_no = summed.run_no;

COMMENT ON MACRO TABLE marts.energies_at IS 'What the cores of all runs cost by another power profile, from stored times in state, columns as marts.energies, and fit_ratio; nothing is stored. SELECT * FROM marts.energies_at(''<profile_id>''). Runs of devices with other clusters have no row; is_foreign_profile: less than 99 % of the busy time is at frequencies that the profile has.';
