-- What threads did by second, of every run; the times lie in the data folder. DuckDB cannot change a CHECK, so the list
-- of files is copied.
ALTER TABLE core.value_files RENAME TO value_files_before;
CREATE TABLE core.value_files (
    -- Without an index: warehouse/values.py keeps values_file unique.
    values_file VARCHAR NOT NULL,
    kind        VARCHAR NOT NULL CHECK (kind IN ('series', 'profiles', 'barycenters', 'paths', 'thread_times', 'slice_uses')),
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

CREATE TABLE core.thread_times (
    -- Without an index: warehouse/thread_times.py keeps run_id unique.
    run_id          VARCHAR NOT NULL,
    start_ns        BIGINT,
    second_count    BIGINT,
    entity_count    BIGINT,
    recorded_states VARCHAR[],
    values_hash     VARCHAR,
    values_file     VARCHAR,
    is_missing      BOOLEAN NOT NULL,
    reason_code     VARCHAR,
    reason          VARCHAR,
    code_version    VARCHAR NOT NULL,
    extracted_at    TIMESTAMPTZ NOT NULL,
    CHECK (is_missing = (start_ns IS NULL)),
    CHECK (is_missing = (second_count IS NULL)),
    CHECK (is_missing = (values_hash IS NULL)),
    CHECK (is_missing = (reason_code IS NOT NULL))
);
COMMENT ON TABLE core.thread_times IS 'A row is what the threads of a run did by second, or why the trace does not tell.';

-- Which slices the app ran on which screens, of runs whose traces tell; the rows lie in the data folder.
CREATE TABLE core.slice_uses (
    -- Without an index: warehouse/slice_uses.py keeps run_id unique.
    run_id       VARCHAR NOT NULL,
    path_hash    VARCHAR,
    use_count    BIGINT,
    values_hash  VARCHAR,
    values_file  VARCHAR,
    is_missing   BOOLEAN NOT NULL,
    reason_code  VARCHAR,
    reason       VARCHAR,
    code_version VARCHAR NOT NULL,
    extracted_at TIMESTAMPTZ NOT NULL,
    CHECK (is_missing = (use_count IS NULL)),
    CHECK (is_missing = (values_hash IS NULL)),
    CHECK (is_missing = (reason_code IS NOT NULL))
);
COMMENT ON TABLE core.slice_uses IS 'A row is which slices the app ran on which screens of a run, or why the trace does not tell.';
