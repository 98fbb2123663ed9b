-- References that long traces are judged by, and what became of traces that were reduced.
CREATE TABLE core.trace_references (
    -- Without an index: warehouse/references.py keeps reference_name unique.
    reference_name VARCHAR NOT NULL,
    app            VARCHAR,
    device         VARCHAR,
    config_hash    VARCHAR,
    window_s       DOUBLE NOT NULL CHECK (window_s > 0),
    window_count   BIGINT NOT NULL,
    event_types    JSON NOT NULL,
    window_counts  BLOB NOT NULL,
    trace_sha256s  VARCHAR[] NOT NULL,
    code_version   VARCHAR NOT NULL,
    created_at     TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE core.trace_references IS 'A row is a reference: windows of correct runs that long traces are judged by.';

CREATE TABLE core.reductions (
    -- Without an index: warehouse/reductions.py keeps original_sha256 unique.
    original_sha256 VARCHAR NOT NULL,
    reduced_sha256 VARCHAR NOT NULL,
    run_id         VARCHAR,
    trace_file     VARCHAR NOT NULL,
    reduced_file   VARCHAR NOT NULL,
    reference_name VARCHAR,
    reduction_mode VARCHAR NOT NULL,
    window_s       DOUBLE NOT NULL,
    kl_maximum     DOUBLE NOT NULL,
    score_minimum  DOUBLE NOT NULL,
    bytes_before   BIGINT NOT NULL,
    bytes_after    BIGINT NOT NULL,
    kept_ratio     DOUBLE NOT NULL,
    window_count   BIGINT NOT NULL,
    start_ns       BIGINT NOT NULL,
    event_types    JSON NOT NULL,
    window_events  BIGINT[] NOT NULL,
    kls            DOUBLE[] NOT NULL,
    scores         DOUBLE[] NOT NULL,
    anomalous      BOOLEAN[] NOT NULL,
    kept           BOOLEAN[] NOT NULL,
    reasons        VARCHAR[] NOT NULL,
    second_events  JSON NOT NULL,
    code_version   VARCHAR NOT NULL,
    reduced_at     TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE core.reductions IS 'A row is a trace that was reduced: its judged windows, and how often what happened in each second, dropped ones as well.';
