-- A row is a reference, under the short name that goes with reductions and trace_windows.
-- depends: trace_references
CREATE VIEW marts.references AS
SELECT given.*
FROM marts.trace_references AS given;

COMMENT ON VIEW marts.references IS 'A row is a reference: windows of correct runs that long traces are judged by. The same as marts.trace_references.';
