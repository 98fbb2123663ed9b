-- Where a run stands, from whether its folder is quarantined and whether its trace is whole (NULL: not checked yet).
CREATE MACRO marts.run_state(is_quarantined, is_complete) AS
CASE
    WHEN is_quarantined THEN 'quarantined'
    WHEN is_complete IS NULL THEN 'registered'
    WHEN is_complete THEN 'complete'
    ELSE 'incomplete_trace'
END;

COMMENT ON MACRO marts.run_state IS 'Where a run stands: quarantined, registered (its trace was not checked yet), complete or incomplete_trace.';
