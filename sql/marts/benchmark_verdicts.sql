-- A row is the verdict in force on a benchmark's result: by the detector and at the ω in force.
-- depends: benchmark_verdicts_at, current_value
CREATE VIEW marts.benchmark_verdicts AS
SELECT given.*
FROM marts.benchmark_verdicts_at(marts.current_value('omega')::DOUBLE) AS given
WHERE given.is_current;

COMMENT ON VIEW marts.benchmark_verdicts IS 'A row is the verdict in force on a benchmark''s result: by the detector and at the ω in force, against earlier results of the same benchmark.';
