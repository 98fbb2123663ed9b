-- A row is a reason to take a benchmark's result with care.
CREATE VIEW marts.benchmark_warnings AS
SELECT
    given.benchmark_run_id,
    runs.app,
    runs.version_name,
    given.result_name,
    given.warning_code,
    given.detail,
    known.sentence
FROM core.benchmark_warnings AS given
JOIN core.benchmark_runs AS runs ON runs.benchmark_run_id = given.benchmark_run_id
LEFT JOIN core.reasons AS known ON known.reason_code = given.warning_code;

COMMENT ON VIEW marts.benchmark_warnings IS 'A row is a reason to take a benchmark''s result with care.';
