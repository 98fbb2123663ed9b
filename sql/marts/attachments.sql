-- A row is a file of a run's folder beside run.json and trace: a screenshot, video or log, registered by reference.
CREATE VIEW marts.attachments AS
SELECT
    files.run_id,
    files.run_no,
    runs.app,
    runs.version_name,
    files.file_name,
    files.kind,
    files.bytes AS file_bytes,
    files.sha256,
    files.ts_ns,
    (files.ts_ns - coalesce(grids.start_ns, runs.exploration_start_ns)) / 1e9 AS offset_s
FROM core.attachments AS files
JOIN core.runs AS runs ON runs.run_no = files.run_no
LEFT JOIN (
    SELECT series.run_id, series.run_no, min(series.start_ns) AS start_ns
    FROM core.time_series AS series
    WHERE series.run_id IN (SELECT attached.run_id FROM core.attachments AS attached)  -- few runs have any
    GROUP BY series.run_id, series.run_no
) AS grids ON grids.run_id = files.run_id AND grids.run_no = files.run_no;

COMMENT ON VIEW marts.attachments IS 'A row is a file of a run''s folder beside run.json and trace: a screenshot, video or log, registered by reference.';
