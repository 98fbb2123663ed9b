-- A row is a run whose device measured its cores' rails, and how the estimate compares.
CREATE VIEW marts.energy_accuracy AS
SELECT
    compared.run_id,
    compared.run_no,
    compared.app,
    compared.version_name,
    compared.device_name,
    compared.profile_id,
    len(compared.pairs) AS interval_count,
    list_sum(list_transform(compared.pairs, lambda pair: pair.estimated))
        / nullif(list_sum(list_transform(compared.pairs, lambda pair: pair.measured)), 0) AS energy_ratio,
    CASE
        WHEN compared.spreads.estimated > 1e-6 * abs(compared.means.estimated) AND compared.spreads.measured > 1e-6 * abs(compared.means.measured)
            THEN list_sum(list_transform(compared.pairs, lambda pair: (pair.estimated - compared.means.estimated) * (pair.measured - compared.means.measured)))
                / sqrt(
                    list_sum(list_transform(compared.pairs, lambda pair: (pair.estimated - compared.means.estimated) ** 2))
                    * list_sum(list_transform(compared.pairs, lambda pair: (pair.measured - compared.means.measured) ** 2))
                )
    END AS correlation,
    CASE
        WHEN compared.spreads.measured > 1e-6 * abs(compared.means.measured)
            THEN list_avg(list_transform(compared.pairs, lambda pair: abs(pair.estimated - pair.measured) / nullif(pair.measured, 0)))
    END AS mape_ratio
FROM (
    SELECT
        both_known.*,
        {
            'estimated': list_avg(list_transform(both_known.pairs, lambda pair: pair.estimated)),
            'measured': list_avg(list_transform(both_known.pairs, lambda pair: pair.measured))
        } AS means,
        -- A rail that was sampled twice is a straight line: its power per interval differs by rounding alone, which is no variation.
        {
            'estimated': list_max(list_transform(both_known.pairs, lambda pair: pair.estimated)) - list_min(list_transform(both_known.pairs, lambda pair: pair.estimated)),
            'measured': list_max(list_transform(both_known.pairs, lambda pair: pair.measured)) - list_min(list_transform(both_known.pairs, lambda pair: pair.measured))
        } AS spreads
    FROM (
        SELECT
            estimated.run_id,
            estimated.run_no,
            runs.app,
            runs.version_name,
            costs.device_name,
            costs.profile_id,
            list_filter(
                list_transform(
                    guessed."values",
                    lambda value, place: {
                        'estimated': value,
                        'measured': seen."values"[place],
                        'start_ns': estimated.start_ns + (place - 1) * round(estimated.interval_s * 1e9)::BIGINT
                    }
                ),
                -- The measurement of an interval that the rails cover in part is the mean over that part, the estimate that over the whole.
                lambda pair: isfinite(pair.estimated) AND isfinite(pair.measured)
                    AND NOT coalesce(list_contains(costs.rails_partly_ns, pair.start_ns), false)
            ) AS pairs
        FROM core.time_series AS estimated
        JOIN core.time_series AS measured
            ON measured.run_no = estimated.run_no AND measured.series = 'power_rail_cpu'
            AND measured.start_ns = estimated.start_ns AND measured.interval_s = estimated.interval_s
        JOIN core.series_values AS guessed
            ON guessed.values_file = estimated.values_file AND guessed.run_id = estimated.run_id AND guessed.series = 'power_cpu_total'
        JOIN core.series_values AS seen
            ON seen.values_file = measured.values_file AND seen.run_id = measured.run_id AND seen.series = 'power_rail_cpu'
        JOIN core.runs AS runs ON runs.run_no = estimated.run_no
        LEFT JOIN core.energy_runs AS costs ON costs.run_no = estimated.run_no
        WHERE estimated.series = 'power_cpu_total' AND NOT estimated.is_missing AND NOT measured.is_missing
    ) AS both_known
) AS compared
WHERE len(compared.pairs) > 0;

COMMENT ON VIEW marts.energy_accuracy IS 'A row is a run whose device measured the rails of its cores, and how the estimate compares with them, interval by interval of the grid where they cover it wholly: ratio of the sums, correlation, and mean absolute share by which it is off. Where the measurement does not vary, as of a rail that was sampled twice, it tells no interval from another: correlation and mape_ratio are NULL.';
