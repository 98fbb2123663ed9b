-- Whether a run has a trace that can be opened, from the file's name, whether the folder is quarantined and whether the file was missed later.
CREATE MACRO marts.has_trace(trace_file, is_quarantined, is_trace_gone) AS
trace_file IS NOT NULL AND NOT is_quarantined AND NOT coalesce(is_trace_gone, false);

COMMENT ON MACRO marts.has_trace IS 'Whether a run has a trace that can be opened: a file was given, the folder is not quarantined, and the file was not missed when it should have been read again.';
