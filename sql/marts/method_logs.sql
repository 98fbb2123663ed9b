-- A row is an imported log of methods' entries and exits.
CREATE VIEW marts.method_logs AS
SELECT
    logs.method_log_id,
    logs.app,
    logs.version_name,
    logs.log_name,
    logs.device_name,
    logs.profile_id,
    logs.nominal_voltage_v,
    logs.test_count,
    logs.thread_count,
    logs.refused_count,
    logs.refused,
    logs.stored_at
FROM core.method_logs AS logs;

COMMENT ON VIEW marts.method_logs IS 'A row is an imported log of methods'' entries and exits, with the threads of it that could not be used and why.';
