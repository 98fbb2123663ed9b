-- What the app of a reference uses at most; NULL in references of earlier releases, and where no app is named.
ALTER TABLE core.trace_references ADD COLUMN core_seconds_maximum DOUBLE;
ALTER TABLE core.trace_references ADD COLUMN rise_bytes_maximum DOUBLE;
