-- A row is a file of benchmark results that was imported, or a run of a suite.
CREATE VIEW marts.benchmark_runs AS
SELECT
    given.benchmark_run_id,
    given.app,
    given.version_name,
    given.device,
    given.variant,
    given.runner,
    given.started_at,
    given.source_name,
    given.source_sha256,
    given.suite_hash,
    given.environment,
    given.partition_key,
    given.imported_at,
    reviewed.status AS review_status,
    reviewed.note AS review_note
FROM core.benchmark_runs AS given
LEFT JOIN core.benchmark_reviews_in_force AS reviewed ON reviewed.benchmark_run_id = given.benchmark_run_id;

COMMENT ON VIEW marts.benchmark_runs IS 'A row is a file of benchmark results that was imported, or a run of a suite.';
