-- What a script did, in place of a path or beside one: a key of run.json that runs are compared by. Runs that said so before
-- it was one have it among the keys that were kept.
ALTER TABLE core.runs ADD COLUMN scenario VARCHAR;
UPDATE core.runs SET scenario = nullif(extra ->> '$.scenario', '') WHERE json_type(extra, '$.scenario') = 'VARCHAR';
