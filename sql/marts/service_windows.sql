-- A row is a window of time of a service in a call log: response time and throughput.
CREATE VIEW marts.service_windows AS
SELECT
    logs.call_log_id,
    logs.app,
    logs.version_name,
    logs.log_name,
    windows.service,
    windows.window_index,
    windows.window_at,
    windows.window_s,
    windows.call_count,
    CASE WHEN NOT isnan(windows.calls_per_s) THEN windows.calls_per_s END AS calls_per_s,
    windows.mean_ms,
    windows.max_ms
FROM core.service_windows AS windows
JOIN core.call_logs AS logs ON logs.call_log_id = windows.call_log_id;

COMMENT ON VIEW marts.service_windows IS 'A row is a window of time of a service in a call log: response time and throughput.';
