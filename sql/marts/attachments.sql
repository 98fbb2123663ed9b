-- A row is a file of a run's folder beside run.json and trace: a screenshot, video or log, registered by reference.
CREATE VIEW marts.attachments AS
SELECT
    files.run_id,
    runs.app,
    runs.version_name,
    files.file_name,
    files.kind,
    files.bytes,
    files.sha256,
    files.ts_ns
FROM core.attachments AS files
JOIN core.runs AS runs ON runs.run_id = files.run_id;

COMMENT ON VIEW marts.attachments IS 'A row is a file of a run''s folder beside run.json and trace: a screenshot, video or log, registered by reference.';
