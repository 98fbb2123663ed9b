-- A row is a run with a whole trace and whether what its threads did is known.
CREATE VIEW marts.thread_time_states AS
SELECT
    traces.run_id,
    traces.run_no,
    runs.app,
    runs.version_name,
    times.run_id IS NOT NULL AND NOT times.is_missing AS has_thread_times,
    times.start_ns,
    times.second_count,
    times.entity_count,
    times.recorded_states,
    CASE
        WHEN times.run_id IS NOT NULL THEN times.reason_code
        WHEN traces.is_trace_gone THEN 'trace_file_missing'
        ELSE 'not_checked'
    END AS reason_code,
    CASE
        WHEN times.run_id IS NOT NULL THEN times.reason
        WHEN traces.is_trace_gone THEN 'The trace was read before thread times were kept, and its file is gone.'
        ELSE 'The trace was read before thread times were kept; it is to be read again.'
    END AS reason,
    times.extracted_at
FROM core.traces AS traces
JOIN core.runs AS runs ON runs.run_no = traces.run_no
LEFT JOIN core.thread_times AS times ON times.run_no = traces.run_no
WHERE traces.is_complete AND NOT runs.is_quarantined;

COMMENT ON VIEW marts.thread_time_states IS 'A row is a run with a whole trace and whether what its threads did by second is known, and if not, why.';
