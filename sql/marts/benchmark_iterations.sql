-- A row is an iteration that was measured.
CREATE VIEW marts.benchmark_iterations AS
SELECT
    launches.benchmark_run_id,
    launches.result_name,
    launches.launch,
    launches.thread_index,
    launches.iteration_index,
    launches.operation_count,
    launches.iteration_ns,
    coalesce(launches.iteration_value, launches.operation_count / launches.iteration_ns * 1e9) AS iteration_value
FROM (
    SELECT
        given.benchmark_run_id,
        given.result_name,
        given.launch,
        given.thread_index,
        unnest(generate_series(1, coalesce(len(given.iteration_values), len(given.operation_counts)))) AS iteration_index,
        unnest(given.iteration_values) AS iteration_value,
        unnest(given.operation_counts) AS operation_count,
        unnest(given.elapsed_ns) AS iteration_ns
    FROM core.benchmark_launches AS given
) AS launches;

COMMENT ON VIEW marts.benchmark_iterations IS 'A row is an iteration that was measured.';
