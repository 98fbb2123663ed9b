-- Benchmarks: what was measured by which tool, launch by launch, and how far it is from earlier results.
-- The scores themselves are measurements (core.measurements, subject_kind benchmark_run).
-- Without indexes, as all tables that grow with the runs: warehouse/benchmarks.py keeps their keys unique.
CREATE TABLE core.benchmark_runs (
    benchmark_run_id VARCHAR NOT NULL,
    partition_key    VARCHAR NOT NULL,
    app              VARCHAR NOT NULL,
    version_name     VARCHAR NOT NULL,
    device           VARCHAR NOT NULL,
    variant          VARCHAR NOT NULL,
    runner           VARCHAR NOT NULL,
    suite_hash       VARCHAR,
    source_name      VARCHAR NOT NULL,
    source_sha256    VARCHAR NOT NULL,
    environment      JSON NOT NULL,
    started_at       TIMESTAMPTZ NOT NULL,
    imported_at      TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE core.benchmark_runs IS 'A row is a file of benchmark results, or a run of a suite.';

CREATE TABLE core.benchmark_results (
    benchmark_run_id VARCHAR NOT NULL,
    result_name      VARCHAR NOT NULL,
    benchmark        VARCHAR NOT NULL,
    params           JSON NOT NULL,
    area             VARCHAR NOT NULL,
    quantity         VARCHAR NOT NULL,
    is_primary       BOOLEAN NOT NULL,
    is_adequate      BOOLEAN NOT NULL,
    launch_scores    DOUBLE[] NOT NULL,
    launch_count     INTEGER NOT NULL CHECK (launch_count > 0),
    measured_iteration_count  BIGINT NOT NULL CHECK (measured_iteration_count > 0)
);
COMMENT ON TABLE core.benchmark_results IS 'A row is one quantity of one configured benchmark; its score is in core.measurements.';

CREATE TABLE core.benchmark_launches (
    benchmark_run_id VARCHAR NOT NULL,
    result_name      VARCHAR NOT NULL,
    launch           INTEGER NOT NULL CHECK (launch > 0),
    thread_index     INTEGER NOT NULL CHECK (thread_index >= 0),
    iteration_values DOUBLE[],
    operation_counts BIGINT[],
    elapsed_ns       BIGINT[],
    CHECK ((iteration_values IS NULL) = (operation_counts IS NOT NULL)),
    CHECK ((operation_counts IS NULL) = (elapsed_ns IS NULL))
);
COMMENT ON TABLE core.benchmark_launches IS 'A row is what one thread of one process measured.';

CREATE TABLE core.benchmark_warnings (
    benchmark_run_id VARCHAR NOT NULL,
    result_name      VARCHAR NOT NULL,
    warning_code     VARCHAR NOT NULL,
    detail           VARCHAR NOT NULL
);
COMMENT ON TABLE core.benchmark_warnings IS 'A row is a reason to take a result with care.';

CREATE TABLE core.benchmark_judged (
    benchmark_run_id VARCHAR NOT NULL,
    input_hash       VARCHAR NOT NULL,
    code_version     VARCHAR NOT NULL,
    measured_at      TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE core.benchmark_judged IS 'A row is a file of results that was compared with earlier ones, and from which inputs.';

CREATE TABLE core.benchmark_distances (
    benchmark_run_id  VARCHAR NOT NULL,
    result_name       VARCHAR NOT NULL,
    detector          VARCHAR NOT NULL,
    state             VARCHAR NOT NULL CHECK (state IN ('scored', 'not_enough_history', 'inadequate', 'invalid')),
    state_reason      VARCHAR,
    distance          DOUBLE,
    q1                DOUBLE,
    q3                DOUBLE,
    improvement       DOUBLE,
    is_recheck_passed BOOLEAN,
    p_value           DOUBLE CHECK (p_value BETWEEN 0 AND 1),
    history_size      INTEGER NOT NULL,
    earlier_low       DOUBLE,
    earlier_median    DOUBLE,
    earlier_high      DOUBLE,
    evidence_text     VARCHAR,
    CHECK ((state = 'scored') = (distance IS NOT NULL)),
    CHECK (state <> 'scored' OR (q1 IS NOT NULL AND q3 IS NOT NULL AND q3 >= q1)),
    CHECK (distance <= 'infinity'::DOUBLE AND improvement <= 'infinity'::DOUBLE)
);
COMMENT ON TABLE core.benchmark_distances IS 'A row is how far a result is from earlier ones of the same benchmark, by one detector.';

CREATE TABLE core.benchmark_reviews (
    reviewed_at      TIMESTAMPTZ NOT NULL,
    benchmark_run_id VARCHAR NOT NULL,
    status           VARCHAR NOT NULL CHECK (status IN ('confirmed', 'rejected', 'accepted')),
    note             VARCHAR,
    reviewer         VARCHAR
);
COMMENT ON TABLE core.benchmark_reviews IS 'A row is somebody''s judgement of a file of results; the last one is in force, none is deleted.';
