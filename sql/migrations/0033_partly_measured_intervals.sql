-- An estimate of a whole interval is compared with no measurement of a part of it. NULL: not read yet with that in mind.
ALTER TABLE core.energy_runs ADD COLUMN rails_partly_ns BIGINT[];
