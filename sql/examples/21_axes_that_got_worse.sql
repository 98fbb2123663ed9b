-- On which axes (cpu, memory, frames, …) is each version worse, and which series says so?
SELECT app, version_name, axis, count(*) FILTER (WHERE is_anomalous) AS anomalous_count, count(is_anomalous) AS judged_count,
    count(*) FILTER (WHERE state = 'series_missing') AS missing_count, mode(series) FILTER (WHERE is_anomalous) AS usual_culprit
FROM marts.axis_verdicts
WHERE is_current AND run_no IN (SELECT run_no FROM marts.counted_runs) -- without those that people left out
GROUP BY app, version_name, axis
ORDER BY app, min(started_at), axis;
