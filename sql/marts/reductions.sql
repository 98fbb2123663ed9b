-- A row is a trace that was reduced. run_id, app and version are those of the registered run that the original was of; NULL for other traces.
CREATE VIEW marts.reductions AS
SELECT
    reduced.original_sha256,
    reduced.run_id,
    runs.app,
    runs.version_name,
    reduced.trace_file,
    reduced.reduced_file,
    reduced.reduced_sha256,
    reduced.reference_name,
    reduced.reduction_mode,
    reduced.window_s,
    reduced.kl_maximum,
    reduced.score_minimum,
    reduced.bytes_before,
    reduced.bytes_after,
    reduced.kept_ratio,
    reduced.window_count,
    coalesce(reduced.is_in_place, false) AS is_in_place,
    reduced.code_version,
    reduced.reduced_at
FROM core.reductions AS reduced
LEFT JOIN core.runs AS runs ON runs.run_id = reduced.run_id;

COMMENT ON VIEW marts.reductions IS 'A row is a trace that was reduced. run_id, app and version are those of the registered run that the original was of; NULL for other traces.';
