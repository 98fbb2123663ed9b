-- A row is a detector that this release knows: what its distance is, how series combine into a run, how it localises by default, what it compares a run with.
-- depends: current_value
CREATE VIEW marts.detectors AS
SELECT
    known.detector,
    known.summary,
    known.scale,
    known.run_rule,
    known.localisation,
    known.way,
    known.fallback,
    known.detector = marts.current_value('detector') AS is_current
FROM core.detectors AS known;

COMMENT ON VIEW marts.detectors IS 'A row is a detector that this release knows: what its distance is, how series combine into a run, how it localises by default, what it compares a run with.';
