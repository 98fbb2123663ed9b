-- A row is the level of a benchmark in a version, beside the band of the earlier results that it was compared with.
-- depends: benchmark_verdicts
CREATE VIEW marts.benchmark_trends AS
SELECT
    levels.app,
    levels.version_name,
    levels.device,
    levels.variant,
    levels.runner,
    levels.area,
    levels.result_name,
    levels.unit,
    levels.worse,
    min(levels.started_at) AS first_started_at,
    count(*) AS result_count,
    -- What a warning keeps out of comparisons is no part of the level.
    exp(avg(ln(levels.score) ORDER BY levels.started_at, levels.benchmark_run_id) FILTER (WHERE levels.state <> 'inadequate')) AS score,
    min(levels.earlier_low) AS earlier_low,
    median(levels.earlier_median) AS earlier_median,
    max(levels.earlier_high) AS earlier_high,
    exp(avg(ln(levels.score) ORDER BY levels.started_at, levels.benchmark_run_id) FILTER (WHERE levels.state <> 'inadequate'))
    / median(levels.earlier_median) - 1 AS score_change_ratio,
    count(*) FILTER (WHERE levels.is_anomalous) AS anomalous_count
FROM marts.benchmark_verdicts AS levels
WHERE levels.score > 0
GROUP BY levels.app, levels.version_name, levels.device, levels.variant, levels.runner, levels.area, levels.result_name, levels.unit, levels.worse;

COMMENT ON VIEW marts.benchmark_trends IS 'A row is the level of a benchmark in a version, beside the band of the earlier results that it was compared with.';
