-- Which types a reference never had: to the score they are one with those that are rare in it. NULL: of before.
ALTER TABLE core.trace_references ADD COLUMN seen_types BLOB;
