-- What steps of paths cost lies in the data folder, and so does what methods cost; run folders' own power profiles are
-- known by their content. The step in move_steps.py has written the files; it leaves moved_steps: which holds what.
-- A new list of files without a CHECK on kinds, which are the code's (warehouse/value_files.py).
ALTER TABLE core.value_files RENAME TO value_files_before;
CREATE TABLE core.value_files (
    -- Without an index: warehouse/values.py keeps values_file unique.
    values_file VARCHAR NOT NULL,
    kind        VARCHAR NOT NULL,
    app         VARCHAR,
    month       VARCHAR,
    row_count   BIGINT NOT NULL,
    file_bytes  BIGINT NOT NULL,
    written_at  TIMESTAMPTZ NOT NULL,
    dropped_at  TIMESTAMPTZ
);
COMMENT ON TABLE core.value_files IS 'A row is a file of the data folder.';
INSERT INTO core.value_files BY NAME SELECT * FROM core.value_files_before;
INSERT INTO core.value_files BY NAME SELECT * FROM moved_step_files;
DROP TABLE core.value_files_before;
DROP TABLE moved_step_files;

ALTER TABLE core.energy_runs ADD COLUMN values_file VARCHAR;
ALTER TABLE core.energy_runs ADD COLUMN priced_step_count BIGINT DEFAULT 0;
ALTER TABLE core.energy_runs ADD COLUMN own_profile_sha256 VARCHAR;
ALTER TABLE core.energy_runs ADD COLUMN profile_doubt VARCHAR;
UPDATE core.energy_runs AS costs
SET values_file = moved.values_file, priced_step_count = len(costs.steps) FROM moved_steps AS moved WHERE moved.run_id = costs.run_id;
UPDATE core.energy_runs SET own_profile_sha256 = profile_id WHERE profile_origin = 'run_folder';
ALTER TABLE core.energy_runs DROP COLUMN steps;
DROP TABLE moved_steps;

CREATE TABLE core.method_energies (
    run_id       VARCHAR NOT NULL,
    method_count BIGINT,
    reason_code  VARCHAR,
    reason       VARCHAR,
    values_file  VARCHAR,
    CHECK ((method_count IS NULL) = (reason_code IS NOT NULL))
);
COMMENT ON TABLE core.method_energies IS 'A row is a run: how many of its methods the charge of the cores is known of, or why of none.';

CREATE TABLE core.method_logs (
    method_log_id     VARCHAR NOT NULL,
    app               VARCHAR NOT NULL,
    version_name      VARCHAR NOT NULL,
    log_name          VARCHAR NOT NULL,
    device_name       VARCHAR,
    profile_id        VARCHAR NOT NULL,
    nominal_voltage_v DOUBLE NOT NULL,
    test_count        BIGINT NOT NULL,
    thread_count      BIGINT NOT NULL,
    refused_count     BIGINT NOT NULL,
    refused           STRUCT(test VARCHAR, thread VARCHAR, reason_code VARCHAR, reason VARCHAR)[] NOT NULL,
    code_version      VARCHAR NOT NULL,
    stored_at         TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE core.method_logs IS 'A row is a log of methods'' entries and exits with the cores'' times in state.';

CREATE TABLE core.method_log_charges (
    method_log_id VARCHAR NOT NULL,
    test          VARCHAR NOT NULL,
    process       VARCHAR NOT NULL,
    thread        VARCHAR NOT NULL,
    method        VARCHAR NOT NULL,
    call_count    BIGINT NOT NULL,
    method_self_mah DOUBLE NOT NULL,
    method_mah    DOUBLE NOT NULL
);
COMMENT ON TABLE core.method_log_charges IS 'A row is a method of a thread in a log, and what all cores could have taken at most while it ran.';
