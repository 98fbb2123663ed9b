-- A row is how often a regression of one kind and size, injected into an app's own normal runs, was found.
CREATE VIEW marts.detection_power AS
SELECT
    entries.evaluation_id,
    entries.app,
    entries.detector,
    entries.omega,
    entries.evaluated_at,
    entries.evaluated_at = max(entries.evaluated_at) OVER (PARTITION BY entries.app) AS is_latest_of_app,
    entries.injected_run_count,
    (entries.entry ->> '$.kind')::VARCHAR AS anomaly_kind,
    (entries.entry ->> '$.size')::DOUBLE AS injected_size,
    (entries.entry ->> '$.unit')::VARCHAR AS injected_unit,
    (entries.entry ->> '$.repeats')::INTEGER AS version_run_count,
    (entries.entry ->> '$.share')::DOUBLE AS found_ratio,
    (entries.entry ->> '$.low')::DOUBLE AS found_ratio_low,
    (entries.entry ->> '$.high')::DOUBLE AS found_ratio_high,
    (entries.entry ->> '$.cases')::INTEGER AS case_count
FROM (
    SELECT
        measured.evaluation_id,
        measured.dataset AS app,
        measured.evaluated_at,
        (measured.result ->> '$.detector')::VARCHAR AS detector,
        (measured.result ->> '$.omega')::DOUBLE AS omega,
        (measured.result ->> '$.runs')::INTEGER AS injected_run_count,
        unnest(from_json(measured.result -> '$.rows', '["JSON"]')) AS entry
    FROM core.evaluations AS measured
    WHERE measured.protocol = 'power'
) AS entries;

COMMENT ON VIEW marts.detection_power IS 'A row is how often a regression of one kind and size, injected into an app''s own normal runs, was found.';
