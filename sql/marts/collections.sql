-- A row is one attempt to collect a run from a device.
CREATE VIEW marts.collections AS
SELECT
    attempts.collection_id,
    attempts.run_id,
    attempts.app,
    attempts.version_name,
    attempts.build_hash,
    attempts.attempt,
    attempts.device_serial,
    attempts.state,
    attempts.reason_code,
    attempts.reason,
    attempts.trace_bytes,
    attempts.duration_s,
    attempts.bytes_per_minute,
    attempts.leftover_path,
    attempts.started_at,
    attempts.ended_at
FROM core.collections AS attempts;

COMMENT ON VIEW marts.collections IS 'A row is one attempt to collect a run from a device.';
