-- A row is a version of an app with the counts of its runs.
-- depends: run_state, run_verdicts, version_ranks
CREATE VIEW marts.app_versions AS
SELECT
    versions.app,
    versions.version_name,
    versions.partition_key,
    ranks.version_code,
    ranks.has_all_codes,
    versions.run_count,
    versions.complete_run_count,
    versions.judged_run_count,
    versions.anomalous_run_count,
    versions.improved_run_count,
    ranks.first_started_at,
    versions.last_started_at,
    ranks.version_rank
FROM (
    SELECT
        runs.app,
        runs.version_name,
        any_value(runs.partition_key) AS partition_key,
        count(*) AS run_count,
        count(*) FILTER (WHERE runs.state = 'complete') AS complete_run_count,
        count(runs.is_anomalous) AS judged_run_count,
        count(*) FILTER (WHERE runs.is_anomalous) AS anomalous_run_count,
        count(*) FILTER (WHERE runs.run_verdict = 'improved') AS improved_run_count,
        max(runs.started_at) AS last_started_at
    FROM (
        SELECT
            registered.app, registered.version_name, registered.partition_key, registered.started_at,
            marts.run_state(registered.is_quarantined, traces.is_complete, traces.reason_code) AS state,
            verdicts.is_anomalous,
            verdicts.state AS run_verdict
        FROM core.runs AS registered
        LEFT JOIN core.traces AS traces ON traces.run_no = registered.run_no
        -- By app and version too, although the id says it all: a filter on them then reaches what is joined.
        LEFT JOIN (SELECT * FROM marts.run_verdicts AS given WHERE given.is_current) AS verdicts
            ON verdicts.run_no = registered.run_no AND verdicts.app = registered.app AND verdicts.version_name = registered.version_name
        WHERE NOT registered.is_quarantined
    ) AS runs
    GROUP BY runs.app, runs.version_name
) AS versions
JOIN marts.version_ranks AS ranks ON ranks.app = versions.app AND ranks.version_name = versions.version_name;

COMMENT ON VIEW marts.app_versions IS 'A row is a version of an app with the counts of its runs.';
