-- A row is what else grew in a suspicious window (or the run, where an anomalous series has none): threads of other processes, a sign of a disturbed run, and waits beside what cores were busy with.
-- depends: grown
CREATE VIEW marts.also_grew AS
SELECT * EXCLUDE (is_cause) FROM marts.grown WHERE NOT is_cause OR scope = 'other';

COMMENT ON VIEW marts.also_grew IS 'A row is what else grew in a suspicious window (or the run, where an anomalous series has none): threads of other processes, a sign of a disturbed run, and waits beside what cores were busy with.';
