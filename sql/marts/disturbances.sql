-- A row is a series in whose suspicious windows other processes did so much more than usual that the run may be disturbed, with the words for the surest window.
CREATE VIEW marts.disturbances AS
SELECT
    run_id,
    run_no,
    series,
    arg_max(disturbance, (coalesce(confidence, 0), -window_index)) AS disturbance
FROM core.cause_windows
WHERE disturbance IS NOT NULL
GROUP BY run_id, run_no, series;

COMMENT ON VIEW marts.disturbances IS 'A row is a series in whose suspicious windows other processes did so much more than usual that the run may be disturbed, with the words for the surest window; of the windows found last, also where the verdict now in force has none.';
