-- A row is a method of a call log with the score that needs no history, sqrt(Σr²/x) − std.
CREATE VIEW marts.method_scores AS
SELECT
    logs.call_log_id,
    logs.app,
    logs.version_name,
    logs.log_name,
    scores.method,
    scores.seed_score,
    scores.rms,
    scores.std,
    scores.service_count,
    scores.call_count,
    scores.mean_ms,
    scores.max_ms
FROM core.method_scores AS scores
JOIN core.call_logs AS logs ON logs.call_log_id = scores.call_log_id;

COMMENT ON VIEW marts.method_scores IS 'A row is a method of a call log with the score that needs no history, sqrt(Σr²/x) − std.';
