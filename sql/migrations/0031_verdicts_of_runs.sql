-- A verdict knows the number of its run, as all other tables that grow with the runs: who asked for the verdicts of some runs
-- read those of all to find which belong to their measurements.
ALTER TABLE core.verdicts ADD COLUMN run_no INTEGER;
UPDATE core.verdicts SET run_no = measured.run_no FROM core.distances AS measured WHERE measured.distance_id = verdicts.distance_id;
COMMENT ON COLUMN core.verdicts.run_no IS 'Number of the run, that of the measured distance.';
