-- The way in which a detector chooses what it compares a run with (path, any_path), NULL where another detector may stand in for it. What it finds is written into it (warehouse/constant_macros.py).
CREATE MACRO marts.only_way(wanted) AS
(SELECT any_value(known.way) FROM core.detectors AS known WHERE known.detector = wanted AND known.fallback IS NULL);

COMMENT ON MACRO marts.only_way IS 'The way in which a detector chooses what it compares a run with (path, any_path); NULL where another detector may stand in for it, or that is no detector''s name.';
