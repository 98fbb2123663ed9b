-- A row is a source that causes of a run can come from: whether it was there to be looked at, in how many runs of the history, and why not.
CREATE VIEW marts.cause_sources AS
SELECT
    sources.run_id,
    sources.run_no,
    runs.app,
    runs.version_name,
    sources.source,
    sources.is_present,
    sources.history_count,
    sources.reason
FROM core.cause_sources AS sources
JOIN core.runs AS runs ON runs.run_no = sources.run_no;

COMMENT ON VIEW marts.cause_sources IS 'A row is a source that causes of a run can come from: whether it was there to be looked at, in how many runs of the history, and why not.';
