-- A row is a method in a service of a call log, or a slice of a thread on a screen of a run, with its share of the time there: what to test again when it changes.
CREATE VIEW marts.change_impact AS
SELECT
    logs.call_log_id,
    logs.app,
    logs.version_name,
    logs.log_name,
    NULL::VARCHAR AS run_id,
    NULL::INTEGER AS run_no,
    uses.method,
    uses.service,
    NULL::VARCHAR AS process,
    NULL::VARCHAR AS thread,
    uses.self_share,
    uses.children_share,
    uses.call_count AS calls,
    uses.self_ms,
    uses.children_ms,
    uses.mean_ms,
    uses.max_ms
FROM core.method_uses AS uses
JOIN core.call_logs AS logs ON logs.call_log_id = uses.call_log_id
UNION ALL
SELECT
    NULL,
    runs.app,
    runs.version_name,
    NULL,
    uses.run_id,
    uses.run_no,
    stored.slice,
    stored.screen,
    stored.process,
    stored.thread,
    stored.self_ns / greatest(stored.screen_ns, 1),
    greatest(stored.total_ns - stored.self_ns, 0) / greatest(stored.screen_ns, 1),
    stored.call_count,
    stored.self_ns / 1e6,
    greatest(stored.total_ns - stored.self_ns, 0) / 1e6,
    stored.called_ns / nullif(stored.call_count, 0) / 1e6,
    stored.max_ns / 1e6
FROM core.slice_uses AS uses
JOIN core.runs AS runs ON runs.run_no = uses.run_no
JOIN core.slice_use_values AS stored ON stored.values_file = uses.values_file AND stored.run_id = uses.run_id;

COMMENT ON VIEW marts.change_impact IS 'A row is a method in a service of a call log (run_id NULL), or a slice of one of the app''s threads on a screen of a run (call_log_id NULL; the screen is the service; add the shares of its threads), with its share of the time there: what to test again when it changes.';
