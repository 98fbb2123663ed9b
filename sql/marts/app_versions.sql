-- A row is a version of an app with the counts of its runs.
-- depends: runs
CREATE VIEW marts.app_versions AS
SELECT
    versions.*,
    row_number() OVER (
        PARTITION BY versions.app
        ORDER BY CASE WHEN versions.has_all_codes THEN versions.version_code END, versions.first_started_at, versions.version_name
    ) AS version_rank
FROM (
    SELECT
        runs.app,
        runs.version_name,
        any_value(runs.partition_key) AS partition_key,
        max(runs.version_code) AS version_code,
        bool_and(bool_and(runs.version_code IS NOT NULL)) OVER (PARTITION BY runs.app) AS has_all_codes,
        count(*) AS run_count,
        count(*) FILTER (WHERE runs.state = 'complete') AS complete_run_count,
        count(runs.is_anomalous) AS judged_run_count,
        count(*) FILTER (WHERE runs.is_anomalous) AS anomalous_run_count,
        count(*) FILTER (WHERE runs.run_verdict = 'improved') AS improved_run_count,
        min(runs.started_at) AS first_started_at,
        max(runs.started_at) AS last_started_at
    FROM marts.runs AS runs
    WHERE runs.state <> 'quarantined'
    GROUP BY runs.app, runs.version_name
) AS versions;

COMMENT ON VIEW marts.app_versions IS 'A row is a version of an app with the counts of its runs.';
COMMENT ON COLUMN marts.app_versions.app IS 'Android application id.';
COMMENT ON COLUMN marts.app_versions.version_name IS 'Version of the app as its makers name it.';
COMMENT ON COLUMN marts.app_versions.partition_key IS 'Dagster partition, app@version.';
COMMENT ON COLUMN marts.app_versions.version_code IS 'Android''s integer version; NULL when not stated.';
COMMENT ON COLUMN marts.app_versions.has_all_codes IS 'Every run of the app states a version code; then versions are ranked by it.';
COMMENT ON COLUMN marts.app_versions.run_count IS 'Runs that are not quarantined.';
COMMENT ON COLUMN marts.app_versions.complete_run_count IS 'Runs with a whole trace.';
COMMENT ON COLUMN marts.app_versions.judged_run_count IS 'Runs with a verdict, anomalous or not.';
COMMENT ON COLUMN marts.app_versions.anomalous_run_count IS 'Runs that are anomalous by their current verdict.';
COMMENT ON COLUMN marts.app_versions.improved_run_count IS 'Runs that do less than their history by their current verdict.';
COMMENT ON COLUMN marts.app_versions.first_started_at IS 'Start of the first run (UTC).';
COMMENT ON COLUMN marts.app_versions.last_started_at IS 'Start of the last run (UTC).';
COMMENT ON COLUMN marts.app_versions.version_rank IS 'Order of the versions within the app, 1 is the first: by version code if all have one, else by their first run.';
