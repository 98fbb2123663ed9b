-- A row is what the verdicts that were given say about an axis of a run (cpu, memory, …), by a detector, at one ω.
-- depends: axis_verdicts_at
CREATE VIEW marts.axis_verdicts AS
SELECT given.*
FROM marts.axis_verdicts_at(NULL, 'all') AS given;

COMMENT ON VIEW marts.axis_verdicts IS 'A row is what the verdicts that were given say about an axis of a run (cpu, memory, …), by a detector, at one ω: anomalous if one of its series is; else series_missing if one is missing although the history has it; else improved if one is and none is over its own uncorrected threshold; else normal if one is; else why none was judged. Where the state is series_missing, missing_in says whether the history has the series.';
