-- Call logs as subjects of their own: what was read, the merged trees of their services, and what grew.

CREATE TABLE core.call_logs (
    call_log_id           VARCHAR NOT NULL PRIMARY KEY,
    app                   VARCHAR NOT NULL,
    version_name          VARCHAR NOT NULL,
    log_name              VARCHAR NOT NULL,
    log_file              VARCHAR NOT NULL,
    sha256                VARCHAR NOT NULL,
    unpacked_bytes        BIGINT NOT NULL CHECK (unpacked_bytes >= 0),
    template              VARCHAR NOT NULL,
    first_call_at         TIMESTAMPTZ,
    last_call_at          TIMESTAMPTZ,
    line_count            BIGINT NOT NULL,
    call_count            BIGINT NOT NULL,
    unfit_count           BIGINT NOT NULL,
    refused_counts        JSON NOT NULL,
    orphan_count          BIGINT NOT NULL,
    parallel_count        BIGINT NOT NULL,
    clipped_count         BIGINT NOT NULL,
    split_count           BIGINT NOT NULL,
    reason_code           VARCHAR,
    baselines             VARCHAR[] NOT NULL,
    code_version          VARCHAR NOT NULL,
    stored_at             TIMESTAMPTZ NOT NULL,
    UNIQUE (app, version_name, log_name)
);
COMMENT ON TABLE core.call_logs IS 'A row is a call log that was stored under the name of an app, a version and its own.';

CREATE TABLE core.call_log_services (
    call_log_id VARCHAR NOT NULL,
    service     VARCHAR NOT NULL,
    call_count  BIGINT NOT NULL,
    total_ms    DOUBLE NOT NULL,
    min_ms      DOUBLE,
    mean_ms     DOUBLE,
    max_ms      DOUBLE,
    std_ms      DOUBLE,
    tree_count  BIGINT NOT NULL
);
COMMENT ON TABLE core.call_log_services IS 'A row is a service in a call log, with its response times.';

CREATE TABLE core.call_tree_nodes (
    call_log_id    VARCHAR NOT NULL,
    node_index     BIGINT NOT NULL,
    parent_index   BIGINT,
    service        VARCHAR NOT NULL,
    method         VARCHAR NOT NULL,
    depth_count    BIGINT NOT NULL,
    call_count     BIGINT NOT NULL,
    parallel_count BIGINT NOT NULL,
    is_outermost   BOOLEAN NOT NULL,
    total_ms       DOUBLE NOT NULL,
    self_ms        DOUBLE NOT NULL CHECK (self_ms >= 0),
    max_ms         DOUBLE NOT NULL,
    max_self_ms    DOUBLE NOT NULL
);
COMMENT ON TABLE core.call_tree_nodes IS 'A row is a node of the merged call tree of a service in a call log: a path of method names.';

CREATE TABLE core.method_uses (
    call_log_id    VARCHAR NOT NULL,
    service        VARCHAR NOT NULL,
    method         VARCHAR NOT NULL,
    call_count     BIGINT NOT NULL,
    self_ms        DOUBLE NOT NULL,
    children_ms    DOUBLE NOT NULL,
    mean_ms        DOUBLE NOT NULL,
    max_ms         DOUBLE NOT NULL,
    self_share     DOUBLE NOT NULL,
    children_share DOUBLE NOT NULL
);
COMMENT ON TABLE core.method_uses IS 'A row is a method in a service of a call log: the inverted index.';

CREATE TABLE core.method_scores (
    call_log_id   VARCHAR NOT NULL,
    method        VARCHAR NOT NULL,
    seed_score    DOUBLE NOT NULL,
    rms           DOUBLE NOT NULL,
    std           DOUBLE NOT NULL,
    service_count BIGINT NOT NULL,
    call_count    BIGINT NOT NULL,
    mean_ms       DOUBLE NOT NULL,
    max_ms        DOUBLE NOT NULL
);
COMMENT ON TABLE core.method_scores IS 'A row is a method of a call log with the score that needs no history.';

CREATE TABLE core.method_causes (
    call_log_id   VARCHAR NOT NULL,
    cause_rank    BIGINT NOT NULL,
    service       VARCHAR NOT NULL,
    method        VARCHAR NOT NULL,
    before_ms     DOUBLE NOT NULL,
    mad_ms        DOUBLE NOT NULL,
    after_ms      DOUBLE NOT NULL,
    growth_ms     DOUBLE NOT NULL,
    growth_share  DOUBLE NOT NULL,
    z             DOUBLE NOT NULL,
    is_new        BOOLEAN NOT NULL,
    history_count BIGINT NOT NULL
);
COMMENT ON TABLE core.method_causes IS 'A row is a method that took notably longer in a call log than in its baselines.';

CREATE TABLE core.slow_calls (
    call_log_id VARCHAR NOT NULL,
    slow_rank   BIGINT NOT NULL,
    service     VARCHAR NOT NULL,
    transaction VARCHAR NOT NULL,
    elapsed_ms  DOUBLE NOT NULL,
    called_at   TIMESTAMPTZ
);
COMMENT ON TABLE core.slow_calls IS 'A row is one of the slowest calls of services in a call log.';

CREATE TABLE core.service_windows (
    call_log_id  VARCHAR NOT NULL,
    service      VARCHAR NOT NULL,
    window_index BIGINT NOT NULL,
    window_at    TIMESTAMPTZ NOT NULL,
    window_s     DOUBLE NOT NULL,
    call_count   BIGINT NOT NULL,
    calls_per_s  DOUBLE NOT NULL,
    mean_ms      DOUBLE,
    max_ms       DOUBLE
);
COMMENT ON TABLE core.service_windows IS 'A row is a window of time of a service in a call log: response time and throughput.';
