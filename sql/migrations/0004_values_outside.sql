-- Series values, profiles, barycenters and paths lie in files of the data folder. What stays here are keys, small
-- numbers and which file holds the rest. The step in move_values.py has written the files; it leaves moved_values:
-- which file holds what was in a row of a table.
CREATE TABLE core.value_files (
    -- Without an index: warehouse/values.py keeps values_file unique.
    values_file VARCHAR NOT NULL,
    kind        VARCHAR NOT NULL CHECK (kind IN ('series', 'profiles', 'barycenters', 'paths')),
    app         VARCHAR,
    month       VARCHAR,
    row_count   BIGINT NOT NULL,
    file_bytes  BIGINT NOT NULL,
    written_at  TIMESTAMPTZ NOT NULL,
    dropped_at  TIMESTAMPTZ
);
COMMENT ON TABLE core.value_files IS 'A row is a file of the data folder.';
INSERT INTO core.value_files BY NAME SELECT * FROM moved_files;

-- ---- series --------------------------------------------------------------------------------------
-- DuckDB cannot drop a column that a CHECK names, so the table is copied.
ALTER TABLE core.time_series RENAME TO time_series_inside;
CREATE TABLE core.time_series (
    run_id           VARCHAR NOT NULL,
    series           VARCHAR NOT NULL,
    unit             VARCHAR NOT NULL,
    interval_s       DOUBLE NOT NULL CHECK (interval_s > 0),
    start_ns         BIGINT,
    sample_count     BIGINT,
    not_finite_count BIGINT,
    values_hash      VARCHAR,
    values_file      VARCHAR,
    is_missing       BOOLEAN NOT NULL,
    reason_code      VARCHAR,
    reason           VARCHAR,
    code_version     VARCHAR,
    extracted_at     TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (run_id, series),
    CHECK (is_missing = (values_file IS NULL)),
    CHECK (is_missing = (sample_count IS NULL)),
    CHECK (is_missing = (not_finite_count IS NULL)),
    CHECK (is_missing OR start_ns IS NOT NULL)
);
INSERT INTO core.time_series BY NAME
SELECT old.* EXCLUDE ("values"), len(old."values") AS sample_count,
    len(list_filter(old."values", lambda sample: NOT isfinite(sample))) AS not_finite_count, moved.values_file
FROM core.time_series_inside AS old
LEFT JOIN moved_values AS moved ON moved.kind = 'series' AND moved.key = old.run_id AND NOT old.is_missing;
DROP TABLE core.time_series_inside;
COMMENT ON TABLE core.time_series IS 'A row is one series of a run on the common grid, or the reason why there is none.';

-- ---- profiles ------------------------------------------------------------------------------------
ALTER TABLE core.profiles RENAME TO profiles_inside;
CREATE TABLE core.profiles (
    run_id          VARCHAR NOT NULL,
    series          VARCHAR NOT NULL,
    localisation    VARCHAR NOT NULL,
    window_s        DOUBLE NOT NULL CHECK (window_s > 0),
    threshold_low   DOUBLE,
    threshold_high  DOUBLE,
    parameters_hash VARCHAR NOT NULL,
    input_hash      VARCHAR,
    values_file     VARCHAR NOT NULL,
    code_version    VARCHAR,
    computed_at     TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (run_id, series)
);
INSERT INTO core.profiles BY NAME
SELECT old.* EXCLUDE (profile), moved.values_file
FROM core.profiles_inside AS old
LEFT JOIN moved_values AS moved ON moved.kind = 'profiles' AND moved.key = old.run_id;
DROP TABLE core.profiles_inside;
COMMENT ON TABLE core.profiles IS 'A row is the profile of an anomalous series, and what its windows were found with.';

-- ---- barycenters ---------------------------------------------------------------------------------
ALTER TABLE core.barycenters RENAME TO barycenters_inside;
CREATE TABLE core.barycenters (
    barycenter_id   VARCHAR NOT NULL PRIMARY KEY,
    values_file     VARCHAR NOT NULL,
    inertia         DOUBLE NOT NULL,
    iteration_count INTEGER NOT NULL,
    backend         VARCHAR NOT NULL,
    seconds         DOUBLE NOT NULL,
    code_version    VARCHAR,
    computed_at     TIMESTAMPTZ NOT NULL
);
INSERT INTO core.barycenters BY NAME
SELECT old.* EXCLUDE ("values"), moved.values_file
FROM core.barycenters_inside AS old
LEFT JOIN moved_values AS moved ON moved.kind = 'barycenters' AND moved.key = old.barycenter_id;
DROP TABLE core.barycenters_inside;
COMMENT ON TABLE core.barycenters IS 'A row is a DBA barycenter; the same inputs are never averaged twice.';

-- ---- paths ---------------------------------------------------------------------------------------
ALTER TABLE core.runs ADD COLUMN values_file VARCHAR;
UPDATE core.runs SET path_hash = md5(path::VARCHAR) WHERE path_hash IS NULL;  -- what freshness took for it
UPDATE core.runs SET values_file = moved.values_file
FROM moved_values AS moved WHERE moved.kind = 'paths' AND moved.key = runs.run_id;
ALTER TABLE core.runs DROP COLUMN path;
