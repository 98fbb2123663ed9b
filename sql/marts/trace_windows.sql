-- A row is a window of a trace that was reduced: how it was judged, and whether it was kept.
CREATE VIEW marts.trace_windows AS
SELECT
    windows.original_sha256,
    windows.run_id,
    windows.start_ns + windows.window_index * round(windows.window_s * 1e9)::BIGINT AS start_ns,
    windows.start_ns + (windows.window_index + 1) * round(windows.window_s * 1e9)::BIGINT AS end_ns,
    windows.event_count,
    CASE WHEN NOT isnan(windows.kl) THEN windows.kl END AS kl_value,
    CASE WHEN NOT isnan(windows.score) THEN windows.score END AS score_value,
    windows.kl_maximum,
    windows.score_minimum,
    windows.is_unusual,
    windows.is_kept,
    nullif(windows.reason, '') AS window_reason,
    kl_value AS kl,
    score_value AS score,
    windows.score_minimum AS threshold,
    windows.is_unusual AS is_anomalous,
    window_reason AS reason
FROM (
    SELECT
        reduced.original_sha256,
        reduced.run_id,
        reduced.start_ns,
        reduced.window_s,
        reduced.kl_maximum,
        reduced.score_minimum,
        unnest(range(reduced.window_count)) AS window_index,
        unnest(reduced.window_events) AS event_count,
        unnest(reduced.kls) AS kl,
        unnest(reduced.scores) AS score,
        unnest(reduced.anomalous) AS is_unusual,
        unnest(reduced.kept) AS is_kept,
        unnest(reduced.reasons) AS reason
    FROM core.reductions AS reduced
) AS windows;

COMMENT ON VIEW marts.trace_windows IS 'A row is a window of a trace that was reduced: how it was judged, and whether it was kept.';
