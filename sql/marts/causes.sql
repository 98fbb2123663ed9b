-- A row is a cause of a suspicious window (or the run, where an anomalous series has none): a thread, a wait, a slice, a lock, a call stack or a kind of memory that took notably more than in comparable earlier runs.
-- depends: grown
CREATE VIEW marts.causes AS
SELECT * EXCLUDE (is_cause) FROM marts.grown WHERE is_cause;

COMMENT ON VIEW marts.causes IS 'A row is a cause of a suspicious window (or the run, where an anomalous series has none): a thread, a wait, a slice, a lock, a call stack or a kind of memory that took notably more than in comparable earlier runs.';
