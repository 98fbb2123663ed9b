-- Registered traces of normal runs are reduced in place after some days: what was read of the whole trace stays.
ALTER TABLE core.traces ADD COLUMN reduced_sha256 VARCHAR;
ALTER TABLE core.reductions ADD COLUMN is_in_place BOOLEAN DEFAULT false;
