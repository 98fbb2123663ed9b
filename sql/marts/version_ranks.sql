-- A row is a version of an app with its place among those of the app, told without looking at any verdict.
CREATE VIEW marts.version_ranks AS
SELECT
    versions.app,
    versions.version_name,
    versions.version_code,
    versions.has_all_codes,
    versions.first_started_at,
    row_number() OVER (
        PARTITION BY versions.app
        ORDER BY CASE WHEN versions.has_all_codes THEN versions.version_code END, versions.first_started_at, versions.version_name
    ) AS version_rank
FROM (
    SELECT
        runs.app,
        runs.version_name,
        max(runs.version_code) AS version_code,
        bool_and(bool_and(runs.version_code IS NOT NULL)) OVER (PARTITION BY runs.app) AS has_all_codes,
        min(runs.started_at) AS first_started_at
    FROM core.runs AS runs
    WHERE NOT runs.is_quarantined
    GROUP BY runs.app, runs.version_name
) AS versions;

COMMENT ON VIEW marts.version_ranks IS 'A row is a version of an app with its place among those of the app: by version code where all of its runs have one, else by the start of its first run.';
