-- Tables of schema `core`, below the marts. Forward only: change them with a new migration.
CREATE SCHEMA core;
CREATE SCHEMA marts;

-- A row is a run that was given to the project, quarantined ones too.
CREATE TABLE core.runs (
    run_id                   VARCHAR NOT NULL PRIMARY KEY,  -- a quarantined folder without a usable id: 'quarantined-' || content_hash prefix
    partition_key            VARCHAR,
    app                      VARCHAR,
    version_name             VARCHAR,
    version_code             BIGINT,
    device                   VARCHAR,
    strategy                 VARCHAR,
    time_limit_s             DOUBLE,
    action_interval_s        DOUBLE,
    config_hash              VARCHAR,
    started_at               TIMESTAMPTZ,
    exploration_start_ns     BIGINT,
    exploration_end_ns       BIGINT,
    step_count               INTEGER,
    path                     STRUCT(step INTEGER, ts_ns BIGINT, state_hash VARCHAR, screen VARCHAR, action VARCHAR)[],
    functional_problem_count INTEGER,
    functional_problems      JSON,
    extra                    JSON,
    folder_name              VARCHAR NOT NULL,
    content_hash             VARCHAR NOT NULL,
    trace_file               VARCHAR,
    trace_bytes              BIGINT,
    trace_sha256             VARCHAR,
    is_quarantined           BOOLEAN NOT NULL,
    reason_code              VARCHAR,
    reason                   VARCHAR,
    is_excluded              BOOLEAN NOT NULL DEFAULT false,
    exclude_reason           VARCHAR,
    registered_at            TIMESTAMPTZ NOT NULL,
    CHECK (is_quarantined = (reason_code IS NOT NULL))
);

-- A row is what the gate found about a run's trace.
CREATE TABLE core.traces (
    run_id          VARCHAR NOT NULL PRIMARY KEY,
    is_complete     BOOLEAN NOT NULL,
    reason_code     VARCHAR,
    reason          VARCHAR,
    trace_sha256    VARCHAR,
    trace_bytes     BIGINT,
    unpacked_bytes  BIGINT,
    start_ns        BIGINT,
    end_ns          BIGINT,
    duration_s      DOUBLE,
    packet_count    BIGINT,
    data_sources    VARCHAR[],
    process_count   INTEGER,
    app_processes   VARCHAR[],
    health          JSON,
    engine          VARCHAR,
    engine_version  VARCHAR,
    engine_seconds  DOUBLE,
    checked_at      TIMESTAMPTZ NOT NULL,
    CHECK (is_complete = (reason_code IS NULL))
);

-- A row is one series of a run on the common grid, or the reason why there is none.
CREATE TABLE core.time_series (
    run_id      VARCHAR NOT NULL,
    series      VARCHAR NOT NULL,
    unit        VARCHAR NOT NULL,
    interval_s  DOUBLE NOT NULL,
    start_ns    BIGINT,
    "values"    DOUBLE[],
    is_missing  BOOLEAN NOT NULL,
    reason      VARCHAR,
    extracted_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (run_id, series)
);

-- A row is a run's history selection, with the counts that explain it.
CREATE TABLE core.history_sets (
    run_id                VARCHAR NOT NULL PRIMARY KEY,
    state                 VARCHAR NOT NULL CHECK (state IN ('ready', 'not_enough_history')),
    history_size          INTEGER NOT NULL,
    history_maximum       INTEGER NOT NULL,
    history_minimum       INTEGER NOT NULL,
    similarity_minimum    DOUBLE NOT NULL,
    candidate_count       INTEGER NOT NULL,
    excluded_counts       JSON NOT NULL,   -- {"other_configuration": 3, "functional_problems": 1, …}
    parameters_hash       VARCHAR NOT NULL,
    selected_at           TIMESTAMPTZ NOT NULL
);

-- A row is a run that was considered for another's history: a member (rank 1 = latest) or a near miss with its reason.
CREATE TABLE core.history_candidates (
    run_id           VARCHAR NOT NULL,
    history_run_id   VARCHAR NOT NULL,
    history_rank     INTEGER,
    similarity_ratio DOUBLE,
    exclude_reason   VARCHAR,
    PRIMARY KEY (run_id, history_run_id),
    CHECK ((history_rank IS NULL) <> (exclude_reason IS NULL))
);

-- A row is a DBA barycenter, keyed by the hash of its inputs and parameters: the same inputs are never averaged twice.
CREATE TABLE core.barycenters (
    barycenter_id   VARCHAR NOT NULL PRIMARY KEY,
    "values"        DOUBLE[] NOT NULL,
    inertia         DOUBLE NOT NULL,
    iteration_count INTEGER NOT NULL,
    backend         VARCHAR NOT NULL,
    seconds         DOUBLE NOT NULL,
    computed_at     TIMESTAMPTZ NOT NULL
);

-- A row says which barycenter stands for a run's history of a series.
CREATE TABLE core.run_barycenters (
    run_id        VARCHAR NOT NULL,
    series        VARCHAR NOT NULL,
    barycenter_id VARCHAR NOT NULL,
    PRIMARY KEY (run_id, series)
);

-- A row is how far a run's series is from its history, by one detector: all that a verdict at any ω needs.
-- series '*' is the run itself (all judged series together, with the detector's own correction).
CREATE TABLE core.distances (
    run_id            VARCHAR NOT NULL,
    series            VARCHAR NOT NULL,
    detector          VARCHAR NOT NULL CHECK (detector IN ('iqr', 'default')),
    parameters_hash   VARCHAR NOT NULL,
    state             VARCHAR NOT NULL CHECK (state IN ('scored', 'not_enough_history', 'incomplete_trace', 'series_missing')),
    state_reason      VARCHAR,
    distance          DOUBLE,              -- d; anomalous when above q3 + ω (q3 − q1)
    q1                DOUBLE,
    q3                DOUBLE,
    improvement       DOUBLE,              -- the same for less load; NULL where the detector has no such side
    is_recheck_passed BOOLEAN,             -- false: the second check takes the alarm away; NULL: no second check
    p_value           DOUBLE,
    direction         VARCHAR CHECK (direction IN ('more', 'less')),
    history_distances DOUBLE[],
    history_size      INTEGER,
    evidence          JSON,
    evidence_text     VARCHAR,
    barycenter_id     VARCHAR,
    input_hash        VARCHAR,
    k                 INTEGER,
    interval_s        DOUBLE,
    engine_version    VARCHAR,
    code_version      VARCHAR,
    measured_at       TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (run_id, series, detector, parameters_hash)
);

-- A row is a verdict at one ω; old ones stay.
CREATE TABLE core.verdicts (
    run_id          VARCHAR NOT NULL,
    series          VARCHAR NOT NULL,
    detector        VARCHAR NOT NULL,
    parameters_hash VARCHAR NOT NULL,
    omega           DOUBLE NOT NULL,
    state           VARCHAR NOT NULL CHECK (state IN ('anomalous', 'normal', 'improved', 'not_enough_history', 'incomplete_trace', 'series_missing')),
    is_anomalous    BOOLEAN,
    threshold       DOUBLE,
    excess_ratio    DOUBLE,
    explanation     VARCHAR NOT NULL,
    evaluated_at    TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (run_id, series, detector, parameters_hash, omega)
);

-- A row is the profile of an anomalous series against its history, with its thresholds.
CREATE TABLE core.profiles (
    run_id          VARCHAR NOT NULL,
    series          VARCHAR NOT NULL,
    localisation    VARCHAR NOT NULL,
    window_s        DOUBLE NOT NULL,
    profile         DOUBLE[] NOT NULL,   -- one value per window start on the series' grid; NaN where trimmed
    threshold_low   DOUBLE,
    threshold_high  DOUBLE,
    parameters_hash VARCHAR NOT NULL,
    computed_at     TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (run_id, series)
);

-- A row is a suspicious window of an anomalous series.
CREATE TABLE core.discords (
    run_id        VARCHAR NOT NULL,
    series        VARCHAR NOT NULL,
    window_index  INTEGER NOT NULL,
    start_s       DOUBLE NOT NULL,
    end_s         DOUBLE NOT NULL,
    peak_s        DOUBLE NOT NULL,
    start_ns      BIGINT NOT NULL,
    end_ns        BIGINT NOT NULL,
    confidence    DOUBLE NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    profile_value DOUBLE NOT NULL,
    screens       VARCHAR[] NOT NULL,
    PRIMARY KEY (run_id, series, window_index)
);

-- A row is a change of a current setting; the last one per name is in force.
CREATE TABLE core.settings (
    changed_at TIMESTAMPTZ NOT NULL,
    name       VARCHAR NOT NULL,
    "value"    VARCHAR NOT NULL,
    note       VARCHAR,
    PRIMARY KEY (name, changed_at)
);

-- A row is somebody's judgement of a run; the last one per run is in force.
CREATE TABLE core.reviews (
    reviewed_at TIMESTAMPTZ NOT NULL,
    run_id      VARCHAR NOT NULL,
    status      VARCHAR NOT NULL CHECK (status IN ('confirmed', 'rejected', 'accepted')),
    note        VARCHAR,
    reviewer    VARCHAR,
    PRIMARY KEY (run_id, reviewed_at)
);

-- A row is one measured quality figure (contract 2: rows and localisation of `perfreg evaluate`).
CREATE TABLE core.evaluations (
    evaluation_id VARCHAR NOT NULL PRIMARY KEY,
    dataset       VARCHAR NOT NULL,
    protocol      VARCHAR NOT NULL,
    result        JSON NOT NULL,
    code_version  VARCHAR NOT NULL,
    evaluated_at  TIMESTAMPTZ NOT NULL
);

-- A row is one attempt to collect a run from a device.
CREATE TABLE core.collections (
    collection_id  VARCHAR NOT NULL PRIMARY KEY,
    run_id         VARCHAR,
    app            VARCHAR NOT NULL,
    version_name   VARCHAR NOT NULL,
    build_hash     VARCHAR,
    attempt        INTEGER NOT NULL,
    device_serial  VARCHAR,
    state          VARCHAR NOT NULL CHECK (state IN ('collected', 'failed')),
    reason_code    VARCHAR,
    reason         VARCHAR,
    trace_bytes    BIGINT,
    duration_s     DOUBLE,
    bytes_per_minute DOUBLE,
    leftover_path  VARCHAR,             -- on the device, not yet deleted; `perfreg collect --sweep`
    started_at     TIMESTAMPTZ NOT NULL,
    ended_at       TIMESTAMPTZ NOT NULL
);

-- A row is a regression that was posted to the webhook, so that none is posted twice.
CREATE TABLE core.notifications (
    notification_key VARCHAR NOT NULL PRIMARY KEY,
    run_id           VARCHAR NOT NULL,
    sent_at          TIMESTAMPTZ NOT NULL
);
