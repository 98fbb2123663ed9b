-- A row is a method of a thread, from the slices of a run or from an imported log, and what the cores cost while it ran.
CREATE VIEW marts.method_energies AS
SELECT
    methods.run_id,
    methods.run_no,
    NULL::VARCHAR AS method_log_id,
    runs.app,
    runs.version_name,
    NULL::VARCHAR AS test,
    own.process,
    own.thread,
    own.method,
    own.call_count,
    own.method_self_mah,
    own.method_mah,
    own.method_self_mah * 3.6 * 1000 * costs.nominal_voltage_v AS method_self_mj,
    own.method_mah * 3.6 * 1000 * costs.nominal_voltage_v AS method_mj,
    false AS is_upper_bound,
    costs.profile_id
FROM core.method_energies AS methods
JOIN core.energy_runs AS costs ON costs.run_no = methods.run_no
JOIN core.runs AS runs ON runs.run_no = methods.run_no
JOIN core.method_energy_values AS own ON own.values_file = methods.values_file AND own.run_id = methods.run_id
UNION ALL
SELECT
    NULL,
    NULL,
    logs.method_log_id,
    logs.app,
    logs.version_name,
    own.test,
    own.process,
    own.thread,
    own.method,
    own.call_count,
    own.method_self_mah,
    own.method_mah,
    own.method_self_mah * 3.6 * 1000 * logs.nominal_voltage_v,
    own.method_mah * 3.6 * 1000 * logs.nominal_voltage_v,
    true,
    logs.profile_id
FROM core.method_logs AS logs
JOIN core.method_log_charges AS own ON own.method_log_id = logs.method_log_id;

COMMENT ON VIEW marts.method_energies IS 'A row is a method of a thread and what the cores cost while it ran (total) and while none that it called ran (self). Of a run (method_log_id NULL) it is a slice, for what its thread took of its own cores, without shares of cluster and processor, so self adds up to no more than the thread''s. Of an imported log (run_id NULL) it is what all cores could have taken at most, busy or not: is_upper_bound.';
