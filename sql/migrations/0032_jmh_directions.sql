-- What a profiler of JMH does not tell per operation (gc.alloc.rate, gc.count) grows with the speed: it has no direction and is not
-- judged, of files that were taken in before that was known, too. How it is told from the others: benchmarks/jmh.py.
CREATE TEMPORARY TABLE undirected AS
SELECT measured.subject_id AS benchmark_run_id, measured.metric AS result_name
FROM core.measurements AS measured
JOIN core.benchmark_runs AS runs ON runs.benchmark_run_id = measured.subject_id
WHERE measured.subject_kind = 'benchmark_run' AND runs.runner = 'jmh' AND measured.worse = 'more'
    AND measured.unit <> 'ns' AND NOT ends_with(measured.unit, '/op');
UPDATE core.measurements SET worse = 'either' FROM undirected
WHERE measurements.subject_kind = 'benchmark_run' AND measurements.subject_id = undirected.benchmark_run_id
    AND measurements.metric = undirected.result_name;
UPDATE core.benchmark_results SET is_adequate = false FROM undirected
WHERE benchmark_results.benchmark_run_id = undirected.benchmark_run_id
    AND benchmark_results.result_name = undirected.result_name;
INSERT INTO core.benchmark_warnings (benchmark_run_id, result_name, warning_code, detail)
SELECT results.benchmark_run_id, results.result_name, 'no_direction', 'not per operation: a build that is quicker has more of it'
FROM core.benchmark_results AS results JOIN undirected USING (benchmark_run_id, result_name);
-- They and those that they were compared with are judged anew.
UPDATE core.benchmark_judged SET input_hash = '' WHERE EXISTS (SELECT 1 FROM undirected);
DROP TABLE undirected;
