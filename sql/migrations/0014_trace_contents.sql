-- A trace is one run, under whatever id and however packed it arrives: its content is known by its hash.
ALTER TABLE core.runs ADD COLUMN trace_content_sha256 VARCHAR;
