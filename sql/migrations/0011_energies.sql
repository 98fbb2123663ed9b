-- Energy: power profiles, how long cores were in which state, and what runs cost.
-- Without indexes, as all tables that grow with the runs: the warehouse modules keep their keys unique.
CREATE TABLE core.power_profiles (
    profile_id     VARCHAR NOT NULL,
    device_name    VARCHAR,
    profile_name   VARCHAR NOT NULL,
    profile_origin VARCHAR NOT NULL CHECK (profile_origin IN ('added', 'run_folder', 'bundled')),
    dialect        VARCHAR NOT NULL,
    energy_source  VARCHAR NOT NULL CHECK (energy_source IN ('profile', 'curve')),
    cluster_count  BIGINT NOT NULL,
    first_cores    BIGINT[],
    core_count     BIGINT,
    active_ma      DOUBLE NOT NULL,
    base_ma        DOUBLE NOT NULL,
    capacity_mah   DOUBLE,
    content        VARCHAR NOT NULL,
    added_at       TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE core.power_profiles IS 'A row is a power profile: what the cores of a device draw.';

CREATE TABLE core.power_levels (
    profile_id        VARCHAR NOT NULL,
    cluster           BIGINT NOT NULL,
    frequency_khz     DOUBLE NOT NULL,
    charge_ma         DOUBLE NOT NULL,
    cluster_charge_ma DOUBLE NOT NULL
);
COMMENT ON TABLE core.power_levels IS 'A row is a frequency of a cluster in a power profile, and what it draws.';

CREATE TABLE core.energy_runs (
    run_id             VARCHAR NOT NULL,
    device_name        VARCHAR,
    duration_s         DOUBLE NOT NULL,
    profile_id         VARCHAR,
    profile_name       VARCHAR,
    profile_origin     VARCHAR,
    is_foreign_profile BOOLEAN,
    fit_ratio          DOUBLE,
    first_cores        BIGINT[],
    has_idle_states    BOOLEAN,
    late_ratio         DOUBLE,
    outside_ratio      DOUBLE,
    nominal_voltage_v  DOUBLE NOT NULL,
    reason_code        VARCHAR,
    reason             VARCHAR,
    is_outdated        BOOLEAN NOT NULL,
    threads            STRUCT(process VARCHAR, thread VARCHAR, is_app BOOLEAN, charge_mah DOUBLE)[] NOT NULL,
    steps              STRUCT(step_index BIGINT, screen VARCHAR, duration_s DOUBLE, app_mah DOUBLE, total_mah DOUBLE)[] NOT NULL,
    code_version       VARCHAR NOT NULL,
    extracted_at       TIMESTAMPTZ NOT NULL,
    CHECK ((profile_id IS NULL) = (reason_code IS NOT NULL))
);
COMMENT ON TABLE core.energy_runs IS 'A row is what the charge of a run was estimated by, or why it is not known.';

CREATE TABLE core.time_in_state (
    run_id          VARCHAR NOT NULL,
    cluster         BIGINT NOT NULL,
    frequency_khz   DOUBLE NOT NULL,
    scope           VARCHAR NOT NULL CHECK (scope IN ('app', 'others', 'wakeups')),
    busy_s          DOUBLE NOT NULL CHECK (busy_s >= 0),
    cluster_share_s DOUBLE NOT NULL CHECK (cluster_share_s >= 0),
    active_share_s  DOUBLE NOT NULL CHECK (active_share_s >= 0)
);
COMMENT ON TABLE core.time_in_state IS 'A row is how long the cores of a cluster were at a frequency in a run, for whom.';

CREATE TABLE core.energies (
    run_id        VARCHAR NOT NULL,
    component     VARCHAR NOT NULL,
    scope         VARCHAR NOT NULL CHECK (scope IN ('app', 'others', 'wakeups', 'device')),
    energy_source VARCHAR NOT NULL CHECK (energy_source IN ('profile', 'curve', 'rail', 'time_in_state')),
    charge_mah    DOUBLE NOT NULL,
    energy_mj     DOUBLE NOT NULL,
    is_estimated  BOOLEAN NOT NULL,
    profile_id    VARCHAR
);
COMMENT ON TABLE core.energies IS 'A row is what a component cost in a run, and for whom.';

CREATE TABLE core.power_calibrations (
    device_name   VARCHAR NOT NULL,
    profile_id    VARCHAR NOT NULL,
    scale_ratio   DOUBLE NOT NULL CHECK (scale_ratio >= 0),
    floor_mw      DOUBLE NOT NULL CHECK (floor_mw >= 0),
    run_count     BIGINT NOT NULL,
    interval_count BIGINT NOT NULL,
    energy_ratio  DOUBLE NOT NULL,
    correlation   DOUBLE,
    mape_ratio    DOUBLE NOT NULL,
    calibrated_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE core.power_calibrations IS 'A row is how the estimates of a device by a power profile are brought to what its rails measured.';
