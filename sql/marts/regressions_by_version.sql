-- A row is what the current verdicts say about a series (or the whole run, *) of a version, of the runs that count for it.
-- depends: counted_runs, verdicts, version_ranks
CREATE VIEW marts.regressions_by_version AS
SELECT
    verdicts.app,
    verdicts.version_name,
    versions.version_rank,
    verdicts.series,
    any_value(verdicts.detector) AS detector,
    any_value(verdicts.omega) AS omega,
    count(*) AS run_count,
    count(verdicts.is_anomalous) AS judged_count,
    count(*) FILTER (WHERE verdicts.is_anomalous) AS anomalous_count,
    count(*) FILTER (WHERE verdicts.state = 'normal') AS normal_count,
    count(*) FILTER (WHERE verdicts.state = 'improved') AS improved_count,
    count(*) FILTER (WHERE verdicts.is_anomalous IS NULL) AS not_judged_count,
    count(*) FILTER (WHERE verdicts.is_anomalous) / nullif(count(verdicts.is_anomalous), 0) AS anomalous_ratio,
    median(verdicts.excess_ratio) AS excess_ratio_median,
    max(verdicts.excess_ratio) AS excess_ratio_max,
    arg_max(verdicts.run_id, (verdicts.excess_ratio, verdicts.run_id)) FILTER (WHERE verdicts.excess_ratio IS NOT NULL) AS worst_run_id,
    max(verdicts.critical_omega) AS critical_omega_max
FROM marts.verdicts AS verdicts
JOIN marts.counted_runs AS counted ON counted.run_no = verdicts.run_no
JOIN marts.version_ranks AS versions ON versions.app = verdicts.app AND versions.version_name = verdicts.version_name
WHERE verdicts.is_current
GROUP BY verdicts.app, verdicts.version_name, versions.version_rank, verdicts.series;

COMMENT ON VIEW marts.regressions_by_version IS 'A row is what the current verdicts say about a series (or the whole run, *) of a version: of its runs that are neither excluded nor rejected in a review (marts.counted_runs). A run counts as judged here where the verdict on that series, or on the run as a whole, was given.';
