-- A row is a run whose device measured its cores' rails, and how the estimate compares.
CREATE VIEW marts.energy_accuracy AS
SELECT
    compared.run_id,
    runs.app,
    runs.version_name,
    costs.device_name,
    costs.profile_id,
    count(*) AS interval_count,
    sum(compared.estimated_mw) / nullif(sum(compared.measured_mw), 0) AS energy_ratio,
    nullif(corr(compared.estimated_mw, compared.measured_mw), 'NaN'::DOUBLE) AS correlation,
    avg(abs(compared.estimated_mw - compared.measured_mw) / nullif(compared.measured_mw, 0)) AS mape_ratio
FROM (
    SELECT
        estimated.run_id,
        unnest(guessed."values") AS estimated_mw,
        unnest(seen."values") AS measured_mw
    FROM core.time_series AS estimated
    JOIN core.time_series AS measured
        ON measured.run_id = estimated.run_id AND measured.series = 'power_rail_cpu'
        AND measured.start_ns = estimated.start_ns AND measured.interval_s = estimated.interval_s
    JOIN core.series_values AS guessed
        ON guessed.values_file = estimated.values_file AND guessed.run_id = estimated.run_id AND guessed.series = 'power_cpu_total'
    JOIN core.series_values AS seen
        ON seen.values_file = measured.values_file AND seen.run_id = measured.run_id AND seen.series = 'power_rail_cpu'
    WHERE estimated.series = 'power_cpu_total' AND NOT estimated.is_missing AND NOT measured.is_missing
) AS compared
JOIN core.runs AS runs ON runs.run_id = compared.run_id
LEFT JOIN core.energy_runs AS costs ON costs.run_id = compared.run_id
WHERE isfinite(compared.estimated_mw) AND isfinite(compared.measured_mw)
GROUP BY compared.run_id, runs.app, runs.version_name, costs.device_name, costs.profile_id;

COMMENT ON VIEW marts.energy_accuracy IS 'A row is a run whose device measured the rails of its cores, and how the estimate compares with them second by second: ratio of the sums, correlation, and mean absolute share by which it is off.';
