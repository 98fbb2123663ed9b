-- A row is one quantity of one configured benchmark, as it was measured of a version.
-- depends: polarity
CREATE VIEW marts.benchmark_results AS
SELECT
    runs.benchmark_run_id,
    runs.app,
    runs.version_name,
    runs.device,
    runs.variant,
    runs.runner,
    runs.started_at,
    measured.metric AS result_name,
    -- Of what is no result its measurement says what it would be of.
    coalesce(results.area, measured.provenance->>'$.of.area') AS area,
    coalesce(results.benchmark, measured.provenance->>'$.of.benchmark') AS benchmark,
    coalesce(results.params, measured.provenance->'$.of.params') AS params,
    coalesce(results.quantity, measured.provenance->>'$.of.metric') AS metric,
    measured.unit,
    measured.worse,
    marts.polarity(measured.worse) AS polarity,
    measured."value" AS score,
    measured.reason,
    results.is_primary,
    results.is_adequate,
    results.launch_scores,
    results.launch_count,
    results.measured_iteration_count
FROM core.benchmark_runs AS runs
JOIN core.measurements AS measured ON measured.subject_kind = 'benchmark_run' AND measured.subject_id = runs.benchmark_run_id
LEFT JOIN core.benchmark_results AS results
    ON results.benchmark_run_id = runs.benchmark_run_id AND results.result_name = measured.metric;

COMMENT ON VIEW marts.benchmark_results IS 'A row is one quantity of one configured benchmark, as it was measured of a version; where there is none, score is NULL and reason says why.';
