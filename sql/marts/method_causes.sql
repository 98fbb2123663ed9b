-- A row is a method that took notably longer in a call log than in its baselines, ranked.
CREATE VIEW marts.method_causes AS
SELECT
    logs.call_log_id,
    logs.app,
    logs.version_name,
    logs.log_name,
    causes.cause_rank,
    causes.service,
    causes.method,
    causes.before_ms,
    causes.mad_ms,
    causes.after_ms,
    causes.growth_ms,
    causes.growth_share,
    causes.z,
    causes.is_new,
    causes.history_count
FROM core.method_causes AS causes
JOIN core.call_logs AS logs ON logs.call_log_id = causes.call_log_id;

COMMENT ON VIEW marts.method_causes IS 'A row is a method that took notably longer in a call log than in its baselines, ranked.';
