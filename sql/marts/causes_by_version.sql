-- A row is what grew in suspicious windows of at least three runs of a version, of those that count for it.
-- depends: causes, counted_runs
CREATE VIEW marts.causes_by_version AS
WITH of_run AS (
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
        source,
        run_id,
        -- One window stands for a run, however many it has: its numbers belong together.
        first(
            {'before': history_median, 'growth': growth, 'share': growth_share, 'z': z}
            ORDER BY growth DESC, z DESC, window_index
        ) AS most,
        min(rank) AS best_rank,
        bool_and(is_new) AS is_new
    FROM marts.causes
    SEMI JOIN marts.counted_runs USING (run_no)
    WHERE z IS NOT NULL
    GROUP BY app, version_name, series, kind, scope, process, thread, name, path, source, run_id
)
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
    count(*) AS run_count,
    list(run_id ORDER BY run_id) AS run_ids,
    median(most.before) AS before_median,
    median(most.before) + median(most.growth) AS after_median,
    median(most.growth) AS growth_median,
    median(most.share) AS growth_share_median,
    median(most.z) AS z_median,
    min(best_rank) AS rank_minimum,
    bool_and(is_new) AS is_new,
    source
FROM of_run
GROUP BY app, version_name, series, kind, scope, process, thread, name, path, source
HAVING count(*) >= 3;

COMMENT ON VIEW marts.causes_by_version IS 'A row is what grew in suspicious windows of at least three runs of a version, of those that count for it (marts.counted_runs); of each run the window in which it grew most.';
