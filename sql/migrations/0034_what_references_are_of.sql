-- Traces without a run folder are compared with what the reference's traces say of themselves. NULL: of before.
ALTER TABLE core.trace_references ADD COLUMN build_fingerprints VARCHAR[];
