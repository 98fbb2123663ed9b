-- At which seconds does the worst run's CPU differ most from the run's barycenter, sample by sample?
WITH worst AS (
    SELECT run_id, series FROM marts.verdicts
    WHERE is_current AND series = 'cpu_app' AND is_anomalous ORDER BY excess_ratio DESC LIMIT 1
), samples AS (  -- lists are taken apart when one run is left of them
    SELECT grids.run_id, grids.interval_s, grids.start_ns, unnest(range(len(grids."values"))) AS position,
        unnest(grids."values") AS cores, unnest(centers."values") AS usual_cores
    FROM worst JOIN marts.series_arrays AS grids USING (run_id, series) JOIN marts.barycenters AS centers USING (run_id, series)
), steps AS (
    SELECT run_id, ts_ns, screen FROM worst JOIN marts.run_paths USING (run_id)
)
SELECT samples.run_id, samples.position * samples.interval_s AS offset_s, steps.screen, round(cores, 3) AS cores,
    round(usual_cores, 3) AS usual_cores
FROM samples
ASOF LEFT JOIN steps
    ON steps.run_id = samples.run_id AND steps.ts_ns <= samples.start_ns + round(position * samples.interval_s * 1e9)::BIGINT
WHERE cores IS NOT NULL AND usual_cores IS NOT NULL
ORDER BY abs(samples.cores - samples.usual_cores) DESC
LIMIT 10;
