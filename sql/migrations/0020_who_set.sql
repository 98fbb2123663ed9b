-- Who changed a setting; NULL in changes of earlier releases, and where the system does not say.
ALTER TABLE core.settings ADD COLUMN changed_by VARCHAR;
COMMENT ON COLUMN core.settings.changed_by IS 'Who changed it.';
