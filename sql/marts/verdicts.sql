-- A row is a verdict that was given: on a run's series (or the run, series '*'), by a detector, at one ω.
-- depends: verdicts_at
CREATE VIEW marts.verdicts AS
SELECT given.*
FROM marts.verdicts_at(NULL, 'all') AS given;

COMMENT ON VIEW marts.verdicts IS 'A row is a verdict that was given: on a run''s series, or on the run as a whole (series *), by a detector, at one ω. Verdicts at earlier ω stay, and so do those on measurements with earlier parameters (is_latest is false).';
