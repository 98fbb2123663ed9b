-- A row is a regression that was posted to the webhook.
CREATE VIEW marts.notifications AS
SELECT
    sent.notification_key,
    sent.run_id,
    coalesce(runs.app, measured.app) AS app,
    coalesce(runs.version_name, measured.version_name) AS version_name,
    sent.sent_at
FROM core.notifications AS sent
LEFT JOIN core.runs AS runs ON runs.run_id = sent.run_id
LEFT JOIN core.benchmark_runs AS measured ON measured.benchmark_run_id = sent.run_id
WHERE runs.run_id IS NOT NULL OR measured.benchmark_run_id IS NOT NULL;

COMMENT ON VIEW marts.notifications IS 'A row is a regression that was posted to the webhook.';
