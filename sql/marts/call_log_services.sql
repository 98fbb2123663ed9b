-- A row is a service in a call log, with its response times.
CREATE VIEW marts.call_log_services AS
SELECT
    logs.call_log_id,
    logs.app,
    logs.version_name,
    logs.log_name,
    services.service,
    services.call_count,
    services.total_ms,
    services.min_ms,
    services.mean_ms,
    services.max_ms,
    services.std_ms,
    services.tree_count
FROM core.call_log_services AS services
JOIN core.call_logs AS logs ON logs.call_log_id = services.call_log_id;

COMMENT ON VIEW marts.call_log_services IS 'A row is a service in a call log, with its response times.';
