-- A row is one of the slowest calls of services in a call log, one by one.
CREATE VIEW marts.slow_calls AS
SELECT
    logs.call_log_id,
    logs.app,
    logs.version_name,
    logs.log_name,
    slow.slow_rank,
    slow.service,
    slow.transaction,
    slow.elapsed_ms,
    slow.called_at
FROM core.slow_calls AS slow
JOIN core.call_logs AS logs ON logs.call_log_id = slow.call_log_id;

COMMENT ON VIEW marts.slow_calls IS 'A row is one of the slowest calls of services in a call log, one by one.';
