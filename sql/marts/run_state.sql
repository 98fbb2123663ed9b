-- Where a run stands, from whether its folder is quarantined, whether its trace is whole (NULL: not checked yet) and why not.
CREATE MACRO marts.run_state(is_quarantined, is_complete, trace_reason_code) AS
CASE
    WHEN is_quarantined THEN 'quarantined'
    WHEN is_complete IS NULL THEN 'registered'
    WHEN is_complete THEN 'complete'
    WHEN trace_reason_code = 'trace_reduced' THEN 'reduced'
    ELSE 'incomplete_trace'
END;

COMMENT ON MACRO marts.run_state IS 'Where a run stands: quarantined, registered (its trace was not checked yet), complete, reduced (only unusual parts of its trace were given) or incomplete_trace.';
