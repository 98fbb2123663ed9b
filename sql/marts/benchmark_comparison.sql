-- Two versions of an app beside each other, benchmark by benchmark: SELECT * FROM marts.benchmark_comparison('1.4.0', '1.5.0').
-- depends: benchmark_results
CREATE MACRO marts.benchmark_comparison(a, b) AS TABLE
SELECT
    sides.app,
    sides.device,
    sides.variant,
    sides.runner,
    sides.area,
    sides.result_name,
    sides.unit,
    sides.worse,
    exp(sides.log_a) AS score_a,
    exp(sides.log_b) AS score_b,
    sides.launches_a,
    sides.launches_b,
    exp(sides.log_b - sides.log_a) AS score_beside
FROM (
    SELECT
        results.app,
        results.device,
        results.variant,
        results.runner,
        any_value(results.area) AS area,
        results.result_name,
        results.unit,
        results.worse,
        avg(results.log_score ORDER BY results.log_score) FILTER (WHERE results.version_name = a::VARCHAR) AS log_a,
        avg(results.log_score ORDER BY results.log_score) FILTER (WHERE results.version_name = b::VARCHAR) AS log_b,
        count(*) FILTER (WHERE results.version_name = a::VARCHAR) AS launches_a,
        count(*) FILTER (WHERE results.version_name = b::VARCHAR) AS launches_b
    FROM (
        SELECT given.* EXCLUDE (launch_scores), ln(unnest(given.launch_scores)) AS log_score
        FROM marts.benchmark_results AS given
        WHERE given.is_adequate AND given.version_name IN (a::VARCHAR, b::VARCHAR)
    ) AS results
    GROUP BY results.app, results.device, results.variant, results.runner, results.result_name, results.unit, results.worse
) AS sides
WHERE sides.launches_a > 0 AND sides.launches_b > 0;

COMMENT ON MACRO TABLE marts.benchmark_comparison IS 'Two versions of an app beside each other, benchmark by benchmark: geometric means over the launches and their ratio, of adequate results. Intervals and means over areas: perfreg bench compare.';
