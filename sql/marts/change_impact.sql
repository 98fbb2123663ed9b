-- A row is a method in a service of a call log, with its share of the service's time: what to test again when it changes.
CREATE VIEW marts.change_impact AS
SELECT
    logs.call_log_id,
    logs.app,
    logs.version_name,
    logs.log_name,
    uses.method,
    uses.service,
    uses.self_share,
    uses.children_share,
    uses.call_count AS calls,
    uses.self_ms,
    uses.children_ms,
    uses.mean_ms,
    uses.max_ms
FROM core.method_uses AS uses
JOIN core.call_logs AS logs ON logs.call_log_id = uses.call_log_id;

COMMENT ON VIEW marts.change_impact IS 'A row is a method in a service of a call log, with its share of the service''s time: what to test again when it changes.';
