-- A row is a version of an app with the counts of its runs.
-- depends: run_state, run_verdicts
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
    FROM (
        SELECT
            registered.app, registered.version_name, registered.partition_key, registered.version_code, registered.started_at,
            marts.run_state(registered.is_quarantined, traces.is_complete, traces.reason_code) AS state,
            verdicts.is_anomalous,
            verdicts.state AS run_verdict
        FROM core.runs AS registered
        LEFT JOIN core.traces AS traces ON traces.run_id = registered.run_id
        -- By app and version too, although the id says it all: a filter on them then reaches what is joined.
        LEFT JOIN (SELECT * FROM marts.run_verdicts AS given WHERE given.is_current) AS verdicts
            ON verdicts.run_id = registered.run_id AND verdicts.app = registered.app AND verdicts.version_name = registered.version_name
        WHERE NOT registered.is_quarantined
    ) AS runs
    GROUP BY runs.app, runs.version_name
) AS versions;

COMMENT ON VIEW marts.app_versions IS 'A row is a version of an app with the counts of its runs.';
