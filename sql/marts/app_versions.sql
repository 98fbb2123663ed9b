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
