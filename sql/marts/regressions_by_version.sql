-- A row is what the current verdicts say about a series (or the whole run, *) of a version.
-- depends: verdicts, app_versions
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
    arg_max(verdicts.run_id, verdicts.excess_ratio) AS worst_run_id,
    max(verdicts.critical_omega) AS critical_omega_max
FROM marts.verdicts AS verdicts
JOIN marts.app_versions AS versions ON versions.app = verdicts.app AND versions.version_name = verdicts.version_name
WHERE verdicts.is_current
GROUP BY verdicts.app, verdicts.version_name, versions.version_rank, verdicts.series;

COMMENT ON VIEW marts.regressions_by_version IS 'A row is what the current verdicts say about a series (or the whole run, *) of a version.';
COMMENT ON COLUMN marts.regressions_by_version.app IS 'Android application id.';
COMMENT ON COLUMN marts.regressions_by_version.version_name IS 'Version of the app as its makers name it.';
COMMENT ON COLUMN marts.regressions_by_version.version_rank IS 'Order of the versions within the app, 1 is the first.';
COMMENT ON COLUMN marts.regressions_by_version.series IS 'The series, or * for runs as a whole.';
COMMENT ON COLUMN marts.regressions_by_version.detector IS 'iqr (the thesis'' rule) or default (this project''s calibrated score).';
COMMENT ON COLUMN marts.regressions_by_version.omega IS 'ω: how many interquartile ranges above q3 the threshold lies.';
COMMENT ON COLUMN marts.regressions_by_version.run_count IS 'Runs with a current verdict row, judged or not.';
COMMENT ON COLUMN marts.regressions_by_version.judged_count IS 'Runs that were judged.';
COMMENT ON COLUMN marts.regressions_by_version.anomalous_count IS 'Judged anomalous.';
COMMENT ON COLUMN marts.regressions_by_version.normal_count IS 'Judged normal.';
COMMENT ON COLUMN marts.regressions_by_version.improved_count IS 'Judged improved.';
COMMENT ON COLUMN marts.regressions_by_version.not_judged_count IS 'Not judged: no history, no series or no whole trace.';
COMMENT ON COLUMN marts.regressions_by_version.anomalous_ratio IS 'Share of the judged runs that is anomalous, 0 to 1; NULL when none was judged.';
COMMENT ON COLUMN marts.regressions_by_version.excess_ratio_median IS 'Median of distance / threshold.';
COMMENT ON COLUMN marts.regressions_by_version.excess_ratio_max IS 'Largest distance / threshold.';
COMMENT ON COLUMN marts.regressions_by_version.worst_run_id IS 'The run with the largest distance / threshold.';
COMMENT ON COLUMN marts.regressions_by_version.critical_omega_max IS 'The version is free of alarms here at every ω from this one on.';
