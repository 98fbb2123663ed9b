-- At which seconds does the worst run's CPU differ most from the run's barycenter, sample by sample?
WITH worst AS (  -- of those that have one: a run that is judged by runs of any path has none
    SELECT run_id, series FROM marts.verdicts SEMI JOIN marts.barycenters USING (run_id, series)
    WHERE is_current AND series = 'cpu_app' AND is_anomalous ORDER BY excess_ratio DESC LIMIT 1
), samples AS (  -- of arrays, because through these DuckDB opens the files of the one run alone
    SELECT run_id, interval_s, start_ns, unnest("values") AS value, unnest(range(len("values"))) AS position
    FROM marts.series_arrays JOIN worst USING (run_id, series)
), barycenter AS (
    SELECT unnest("values") AS usual, unnest(range(len("values"))) AS position
    FROM marts.barycenters JOIN worst USING (run_id, series)
), steps AS (
    SELECT ts_ns, screen  -- shown until then
    FROM marts.run_paths JOIN worst USING (run_id)
)
SELECT samples.run_id, position * interval_s AS offset_s, steps.screen, round(value, 3) AS cores, round(usual, 3) AS usual_cores
FROM samples
JOIN barycenter USING (position)
ASOF LEFT JOIN steps ON steps.ts_ns > samples.start_ns + round(position * interval_s * 1e9)::BIGINT
ORDER BY abs(value - usual) DESC
LIMIT 10;
