-- A row is a reference: windows of correct runs that long traces are judged by.
CREATE VIEW marts.trace_references AS
SELECT
    kept.reference_name,
    kept.app,
    kept.device,
    kept.config_hash,
    kept.window_s,
    kept.window_count,
    kept.event_types,
    kept.trace_sha256s,
    kept.core_seconds_maximum,
    kept.rise_bytes_maximum,
    kept.build_fingerprints,
    kept.code_version,
    kept.created_at
FROM core.trace_references AS kept;

COMMENT ON VIEW marts.trace_references IS 'A row is a reference: windows of correct runs that long traces are judged by.';
