-- A row is what grew in suspicious windows of at least three runs of a version.
-- depends: causes
CREATE VIEW marts.causes_by_version AS
SELECT
    app,
    version_name,
    series,
    kind,
    scope,
    process,
    thread,
    name,
    path,
    count(DISTINCT run_id) AS run_count,
    list(DISTINCT run_id ORDER BY run_id) AS run_ids,
    median(history_median) AS before_median,
    median(value) AS after_median,
    median(growth) AS growth_median,
    median(growth_share) AS growth_share_median,
    median(z) AS z_median,
    min(rank) AS rank_minimum,
    bool_and(is_new) AS is_new,
    source
FROM marts.causes
WHERE z IS NOT NULL
GROUP BY app, version_name, series, kind, scope, process, thread, name, path, source
HAVING count(DISTINCT run_id) >= 3;

COMMENT ON VIEW marts.causes_by_version IS 'A row is what grew in suspicious windows of at least three runs of a version.';
