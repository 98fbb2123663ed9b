-- Causes of suspicious windows: what grew, what it was made from, and what was there to look at.
-- Without indexes, as all tables that grow with the runs: warehouse/causes.py keeps their keys unique.
CREATE TABLE core.cause_runs (
    run_id       VARCHAR NOT NULL,
    input_hash   VARCHAR NOT NULL,
    code_version VARCHAR NOT NULL,
    computed_at  TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE core.cause_runs IS 'A row is a run whose suspicious windows were explained.';

CREATE TABLE core.cause_windows (
    run_id        VARCHAR NOT NULL,
    series        VARCHAR NOT NULL,
    window_index  INTEGER NOT NULL,
    is_whole_run  BOOLEAN NOT NULL,
    start_s       DOUBLE NOT NULL,
    end_s         DOUBLE NOT NULL,
    start_ns      BIGINT NOT NULL,
    end_ns        BIGINT NOT NULL,
    confidence    DOUBLE,
    state         VARCHAR NOT NULL CHECK (state IN ('ranked', 'not_enough_history', 'source_missing')),
    state_reason  VARCHAR,
    disturbance   VARCHAR,
    history_count BIGINT NOT NULL,
    matched_count BIGINT NOT NULL,
    windows_hash  VARCHAR NOT NULL,
    threads_hash  VARCHAR
);
COMMENT ON TABLE core.cause_windows IS 'A row is a suspicious window for which causes were looked for, or the whole run where none stands out.';

CREATE TABLE core.causes (
    run_id         VARCHAR NOT NULL,
    series         VARCHAR NOT NULL,
    window_index   INTEGER NOT NULL,
    is_cause       BOOLEAN NOT NULL,
    rank           BIGINT NOT NULL CHECK (rank > 0),
    kind           VARCHAR NOT NULL,
    scope          VARCHAR NOT NULL CHECK (scope IN ('app', 'other')),
    process        VARCHAR,
    thread         VARCHAR,
    name           VARCHAR NOT NULL,
    path           VARCHAR,
    value          DOUBLE NOT NULL,
    history_median DOUBLE,
    history_mad    DOUBLE,
    growth         DOUBLE,
    growth_share   DOUBLE,
    z              DOUBLE,
    is_new         BOOLEAN NOT NULL,
    matched_count  BIGINT NOT NULL,
    history_count  BIGINT NOT NULL,
    source         VARCHAR NOT NULL
);
COMMENT ON TABLE core.causes IS 'A row is something that took more in a suspicious window than in the history: a cause of it, or what else grew.';

CREATE TABLE core.cause_sources (
    run_id        VARCHAR NOT NULL,
    source        VARCHAR NOT NULL,
    is_present    BOOLEAN NOT NULL,
    history_count BIGINT NOT NULL,
    reason        VARCHAR,
    CHECK (is_present = (reason IS NULL))
);
COMMENT ON TABLE core.cause_sources IS 'A row is a source that causes of a run can come from: whether it was there to be looked at.';
