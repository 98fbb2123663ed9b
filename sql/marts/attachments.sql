-- A row is a file of a run folder besides run.json and trace: a screenshot, video or log.
CREATE VIEW marts.attachments AS
SELECT
    files.run_id,
    runs.app,
    runs.version_name,
    files.file_name,
    files.kind,
    files.bytes AS file_bytes,
    files.sha256,
    files.ts_ns,
    (files.ts_ns - coalesce(grids.start_ns, runs.exploration_start_ns)) / 1e9 AS offset_s
FROM core.attachments AS files
JOIN core.runs AS runs ON runs.run_id = files.run_id
LEFT JOIN (
    SELECT series.run_id, min(series.start_ns) AS start_ns FROM core.time_series AS series GROUP BY series.run_id
) AS grids ON grids.run_id = files.run_id;

COMMENT ON VIEW marts.attachments IS 'A row is a file of a run folder besides run.json and trace: a screenshot, video or log.';
COMMENT ON COLUMN marts.attachments.run_id IS 'The run.';
COMMENT ON COLUMN marts.attachments.app IS 'Android application id.';
COMMENT ON COLUMN marts.attachments.version_name IS 'Version of the app as its makers name it.';
COMMENT ON COLUMN marts.attachments.file_name IS 'Name within the run folder, folders in it separated by /.';
COMMENT ON COLUMN marts.attachments.kind IS 'screenshot, video, log or other, by the name''s suffix.';
COMMENT ON COLUMN marts.attachments.file_bytes IS 'Size of the file, bytes.';
COMMENT ON COLUMN marts.attachments.sha256 IS 'SHA-256 of the file when it was registered.';
COMMENT ON COLUMN marts.attachments.ts_ns IS 'The moment it belongs to on the trace clock (BOOTTIME), ns; NULL where nothing says it.';
COMMENT ON COLUMN marts.attachments.offset_s IS 'That moment in seconds since the start of the series (or of the exploration); NULL when not known.';
