-- A row is a run with a whole trace, and what its charge was estimated by, or why it is not known.
CREATE VIEW marts.energy_states AS
SELECT
    traces.run_id,
    traces.run_no,
    runs.app,
    runs.version_name,
    costs.profile_id IS NOT NULL AS has_energies,
    costs.device_name,
    costs.duration_s,
    costs.profile_id,
    costs.profile_name,
    costs.profile_origin,
    costs.is_foreign_profile,
    costs.profile_doubt,
    costs.fit_ratio,
    costs.first_cores,
    costs.has_idle_states,
    costs.late_ratio,
    costs.outside_ratio,
    costs.nominal_voltage_v,
    CASE
        WHEN costs.run_id IS NOT NULL THEN costs.reason_code
        WHEN traces.is_trace_gone THEN 'trace_file_missing'
        ELSE 'not_checked'
    END AS reason_code,
    CASE
        WHEN costs.run_id IS NOT NULL THEN costs.reason
        WHEN traces.is_trace_gone THEN 'The trace was read before energies were kept, and its file is gone.'
        ELSE 'The trace was read before energies were kept; it is to be read again.'
    END AS reason,
    costs.is_outdated,
    costs.extracted_at
FROM core.traces AS traces
JOIN core.runs AS runs ON runs.run_no = traces.run_no
LEFT JOIN core.energy_runs AS costs ON costs.run_no = traces.run_no
WHERE traces.is_complete AND NOT runs.is_quarantined;

COMMENT ON VIEW marts.energy_states IS 'A row is a run with a whole trace, and what its charge was estimated by, or why it is not known.';
