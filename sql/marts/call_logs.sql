-- A row is a call log that was stored under the name of an app, a version and its own.
CREATE VIEW marts.call_logs AS
SELECT
    logs.call_log_id,
    logs.app,
    logs.version_name,
    logs.log_name,
    logs.log_file,
    logs.sha256,
    logs.unpacked_bytes,
    logs.template,
    logs.first_call_at,
    logs.last_call_at,
    logs.line_count,
    logs.call_count,
    logs.unfit_count,
    logs.refused_counts,
    logs.orphan_count,
    logs.parallel_count,
    logs.clipped_count,
    logs.split_count,
    logs.reason_code,
    logs.baselines,
    logs.code_version,
    logs.stored_at
FROM core.call_logs AS logs;

COMMENT ON VIEW marts.call_logs IS 'A row is a call log that was stored under the name of an app, a version and its own.';
