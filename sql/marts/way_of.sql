-- In which way a detector compares a run, as detection.way_of: one that nothing stands in for has its one way, of the others the history says it.
CREATE MACRO marts.way_of(own_way, fallback, chosen_way) AS
coalesce(CASE WHEN fallback IS NULL THEN own_way END, chosen_way, 'path');

COMMENT ON MACRO marts.way_of IS 'In which way a detector compares a run: its own where no other stands in for it (fallback is NULL), else the one that was chosen for the run''s history; path where none was.';
