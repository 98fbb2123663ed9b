-- What a detector compares a run with, for what is told beside its verdict: causes, energy, bands of versions.
ALTER TABLE core.detectors ADD COLUMN way VARCHAR;
ALTER TABLE core.detectors ADD COLUMN fallback VARCHAR;
