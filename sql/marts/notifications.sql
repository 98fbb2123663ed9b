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
COMMENT ON COLUMN marts.notifications.notification_key IS 'Key of the notice; none is sent twice.';
COMMENT ON COLUMN marts.notifications.run_id IS 'The run.';
COMMENT ON COLUMN marts.notifications.app IS 'Android application id.';
COMMENT ON COLUMN marts.notifications.version_name IS 'Version of the app as its makers name it.';
COMMENT ON COLUMN marts.notifications.sent_at IS 'When it was claimed for sending (UTC).';
