-- A row is a thread of a run and what the cores cost for it.
CREATE VIEW marts.energy_by_thread AS
SELECT
    costs.run_id,
    costs.run_no,
    runs.app,
    runs.version_name,
    costs.own.process AS process,
    costs.own.thread AS thread,
    costs.own.is_app AS is_app,
    costs.own.charge_mah AS charge_mah,
    costs.own.charge_mah * 3.6 * 1000 * costs.nominal_voltage_v AS energy_mj,
    costs.profile_id
FROM (SELECT run_id, run_no, profile_id, nominal_voltage_v, unnest(threads) AS own FROM core.energy_runs) AS costs
JOIN core.runs AS runs ON runs.run_no = costs.run_no;

COMMENT ON VIEW marts.energy_by_thread IS 'A row is a thread of a run (all threads of one name together, numbers in names being #; * is the rest) and what the cores cost for it, with its share of cluster and processor. Wake-ups are no thread''s.';
