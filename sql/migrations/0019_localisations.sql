-- Whether windows could be looked for, and in which stretch of the series; NULL in rows of earlier releases, which are
-- computed again.
ALTER TABLE core.profiles ADD COLUMN failure VARCHAR;
ALTER TABLE core.profiles ADD COLUMN examined_start_s DOUBLE;
ALTER TABLE core.profiles ADD COLUMN examined_end_s DOUBLE;
