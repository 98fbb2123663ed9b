-- What causes were found from stands once per run, its history's part too; and what traces tell of suspicious windows by
-- stack lies in the data folder. DuckDB cannot change a CHECK, so the list of files is copied.
ALTER TABLE core.value_files RENAME TO value_files_before;
CREATE TABLE core.value_files (
    -- Without an index: warehouse/values.py keeps values_file unique.
    values_file VARCHAR NOT NULL,
    kind        VARCHAR NOT NULL CHECK (
        kind IN ('series', 'profiles', 'barycenters', 'paths', 'thread_times', 'slice_uses', 'cause_stacks')
    ),
    app         VARCHAR,
    month       VARCHAR,
    row_count   BIGINT NOT NULL,
    file_bytes  BIGINT NOT NULL,
    written_at  TIMESTAMPTZ NOT NULL,
    dropped_at  TIMESTAMPTZ
);
COMMENT ON TABLE core.value_files IS 'A row is a file of the data folder.';
INSERT INTO core.value_files BY NAME SELECT * FROM core.value_files_before;
DROP TABLE core.value_files_before;

-- Of runs explained before it is not known; they are explained again.
ALTER TABLE core.cause_runs ADD COLUMN inputs_mark VARCHAR;
ALTER TABLE core.cause_runs ADD COLUMN stack_count BIGINT;
ALTER TABLE core.cause_runs ADD COLUMN values_file VARCHAR;
ALTER TABLE core.cause_windows DROP COLUMN windows_hash;
ALTER TABLE core.cause_windows DROP COLUMN threads_hash;
