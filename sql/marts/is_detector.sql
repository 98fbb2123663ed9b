-- Whether a name is that of a detector that this release knows. What it finds is written into it (warehouse/constant_macros.py).
CREATE MACRO marts.is_detector(name) AS
(SELECT count(*) FROM core.detectors AS known WHERE known.detector = name) = 1;

COMMENT ON MACRO marts.is_detector IS 'Whether a name is that of a detector that this release knows.';
