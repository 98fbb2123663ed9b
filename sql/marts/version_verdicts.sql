-- A row is the verdict on a version of an app, its runs combined: on an axis (cpu, memory, …) or as a whole (all), by a detector, at one ω.
-- depends: version_verdicts_at
CREATE VIEW marts.version_verdicts AS
SELECT given.*
FROM marts.version_verdicts_at(NULL, 'all') AS given;

COMMENT ON VIEW marts.version_verdicts IS 'A row is the verdict on a version of an app, its runs combined: on an axis (cpu, memory, …) or as a whole (all), by a detector, at one ω. Computed from the latest distances, so never older than they are; runs that were excluded, or whose review is rejected, are not in it; a version without any other, or whose runs were all refused or not measured yet, has one row that says so. A version of which a review confirmed a run as a regression is never improved as a whole. Its level holds for 1 to 10 runs of a build by a detector of scores; by one of distances more than half of the runs decide.';
