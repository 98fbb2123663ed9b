-- Which added power profiles a run's was chosen from, so that it is due once they are others, whenever it was read.
-- NULL: of before; those that were in force until the next one is added or removed.
ALTER TABLE core.energy_runs ADD COLUMN offered_profiles VARCHAR;
