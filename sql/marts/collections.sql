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
COMMENT ON COLUMN marts.collections.collection_id IS 'Key of the attempt.';
COMMENT ON COLUMN marts.collections.run_id IS 'The run that came of it; NULL when it failed.';
COMMENT ON COLUMN marts.collections.app IS 'Android application id.';
COMMENT ON COLUMN marts.collections.version_name IS 'Version of the app as its makers name it.';
COMMENT ON COLUMN marts.collections.build_hash IS 'Hash of the package that was installed.';
COMMENT ON COLUMN marts.collections.attempt IS 'How often the build had been tried before.';
COMMENT ON COLUMN marts.collections.device_serial IS 'Serial number of the device.';
COMMENT ON COLUMN marts.collections.state IS 'collected or failed.';
COMMENT ON COLUMN marts.collections.reason_code IS 'Why it failed, a stable code.';
COMMENT ON COLUMN marts.collections.reason IS 'Why it failed, one sentence.';
COMMENT ON COLUMN marts.collections.trace_bytes IS 'Size of the trace, bytes.';
COMMENT ON COLUMN marts.collections.duration_s IS 'How long was recorded, seconds.';
COMMENT ON COLUMN marts.collections.bytes_per_minute IS 'Growth of the trace, bytes per minute.';
COMMENT ON COLUMN marts.collections.leftover_path IS 'A file still on the device; NULL when clean.';
COMMENT ON COLUMN marts.collections.started_at IS 'When the attempt started (UTC).';
COMMENT ON COLUMN marts.collections.ended_at IS 'When the attempt ended (UTC).';
