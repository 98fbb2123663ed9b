-- A row is a regression that was posted to the webhook.
CREATE VIEW marts.notifications AS
SELECT
    sent.notification_key,
    sent.run_id,
    runs.app,
    runs.version_name,
    sent.sent_at
FROM core.notifications AS sent
JOIN core.runs AS runs ON runs.run_id = sent.run_id;

COMMENT ON VIEW marts.notifications IS 'A row is a regression that was posted to the webhook.';
