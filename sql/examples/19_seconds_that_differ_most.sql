-- At which seconds does the worst run's CPU differ most from the run's barycenter, sample by sample?
WITH worst AS (
    SELECT run_id, series FROM marts.verdicts
    WHERE is_current AND series = 'cpu_app' AND is_anomalous ORDER BY excess_ratio DESC LIMIT 1
), barycenter AS (
    SELECT run_id, series, unnest("values") AS usual, unnest(range(len("values"))) AS position
    FROM marts.barycenters JOIN worst USING (run_id, series)
)
SELECT samples.run_id, samples.offset_s, samples.screen, round(samples.value, 3) AS cores, round(usual, 3) AS usual_cores
FROM (
    SELECT points.*, steps.screen FROM marts.time_series AS points
    ASOF LEFT JOIN marts.run_paths AS steps ON steps.run_id = points.run_id AND steps.ts_ns <= points.trace_ts_ns
    WHERE points.run_id = (SELECT run_id FROM worst) AND points.series = 'cpu_app'
) AS samples
JOIN marts.series_arrays AS grids ON grids.run_id = samples.run_id AND grids.series = 'cpu_app'
JOIN barycenter ON barycenter.position = round(samples.offset_s / grids.interval_s)
ORDER BY abs(value - usual) DESC
LIMIT 10;
