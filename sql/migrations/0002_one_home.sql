-- Facts that stood in code and in SQL get one home: detectors, series, reasons. What freshness is judged by is stored.

-- ---- distances: any detector; what the run level needs to be honest ------------------------------
-- DuckDB cannot drop a CHECK, so the table is copied.
ALTER TABLE core.distances RENAME TO distances_0001;
CREATE TABLE core.distances (
    distance_id          BIGINT NOT NULL,
    run_id               VARCHAR NOT NULL,
    series               VARCHAR NOT NULL,
    detector             VARCHAR NOT NULL,
    parameters_hash      VARCHAR NOT NULL,
    is_latest            BOOLEAN NOT NULL,
    state                VARCHAR NOT NULL CHECK (state IN ('scored', 'not_enough_history', 'incomplete_trace', 'series_missing')),
    state_reason         VARCHAR,
    distance             DOUBLE,
    q1                   DOUBLE,
    q3                   DOUBLE,
    improvement          DOUBLE,
    uncorrected_distance DOUBLE,
    missing_series       VARCHAR[],
    is_recheck_passed    BOOLEAN,
    p_value              DOUBLE CHECK (p_value BETWEEN 0 AND 1),
    direction            VARCHAR CHECK (direction IN ('more', 'less')),
    history_distances    DOUBLE[],
    history_size         INTEGER,
    evidence             JSON,
    evidence_text        VARCHAR,
    barycenter_id        VARCHAR,
    input_hash           VARCHAR,
    k                    INTEGER,
    interval_s           DOUBLE,
    engine_version       VARCHAR,
    code_version         VARCHAR,
    measured_at          TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (run_id, series, detector, parameters_hash),
    CHECK ((state = 'scored') = (distance IS NOT NULL)),
    CHECK (state <> 'scored' OR (q1 IS NOT NULL AND q3 IS NOT NULL AND q3 >= q1)),
    -- NaN compares as larger than everything, so it would be anomalous. Written without functions: DuckDB cannot
    -- replay its log after a crash when a CHECK calls one of an extension, isnan() among them.
    CHECK (distance <= 'infinity'::DOUBLE AND improvement <= 'infinity'::DOUBLE AND uncorrected_distance <= 'infinity'::DOUBLE),
    CHECK (q1 > '-infinity'::DOUBLE AND q3 < 'infinity'::DOUBLE)
);
INSERT INTO core.distances BY NAME SELECT * FROM core.distances_0001;
DROP TABLE core.distances_0001;
COMMENT ON TABLE core.distances IS 'A row is how far a run''s series is from its history, by one detector: all that a verdict at any ω needs.';

-- ---- what the code knows, for SQL; filled by every migration run --------------------------------
CREATE TABLE core.detectors (
    detector     VARCHAR NOT NULL PRIMARY KEY,
    summary      VARCHAR NOT NULL,
    scale        VARCHAR NOT NULL,
    run_rule     VARCHAR NOT NULL,
    localisation VARCHAR NOT NULL
);
COMMENT ON TABLE core.detectors IS 'A row is a detector that this release knows.';

CREATE TABLE core.series_definitions (
    definition_name VARCHAR NOT NULL PRIMARY KEY,
    name_pattern    VARCHAR NOT NULL,
    unit            VARCHAR NOT NULL,
    kind            VARCHAR NOT NULL,
    axis            VARCHAR NOT NULL,
    worse           VARCHAR NOT NULL,
    label           VARCHAR NOT NULL,
    short_label     VARCHAR NOT NULL,
    description     VARCHAR NOT NULL,
    needed_sources  VARCHAR[] NOT NULL,
    is_judged       BOOLEAN NOT NULL
);
COMMENT ON TABLE core.series_definitions IS 'A row is a series or metric of the catalogue, or a pattern of names.';

CREATE TABLE core.reasons (
    reason_code VARCHAR NOT NULL PRIMARY KEY,
    sentence    VARCHAR NOT NULL
);
COMMENT ON TABLE core.reasons IS 'A row is a reason code with what it means and what to do.';

-- ---- what freshness is judged by -----------------------------------------------------------------
ALTER TABLE core.time_series ADD COLUMN values_hash VARCHAR;
ALTER TABLE core.time_series ADD COLUMN reason_code VARCHAR;
ALTER TABLE core.runs ADD COLUMN path_hash VARCHAR;
ALTER TABLE core.runs ADD COLUMN explored_state_count INTEGER;
UPDATE core.runs SET explored_state_count = len(list_distinct(list_transform(path, lambda step: step.state_hash)));
ALTER TABLE core.traces ADD COLUMN load_sources VARCHAR[];
ALTER TABLE core.traces ADD COLUMN parameters_hash VARCHAR;
ALTER TABLE core.traces ADD COLUMN is_trace_gone BOOLEAN;
ALTER TABLE core.history_sets ADD COLUMN input_hash VARCHAR;
ALTER TABLE core.profiles ADD COLUMN input_hash VARCHAR;

-- ---- values without a time axis ------------------------------------------------------------------
CREATE TABLE core.measurements (
    subject_kind VARCHAR NOT NULL,
    subject_id   VARCHAR NOT NULL,
    metric       VARCHAR NOT NULL,
    app          VARCHAR NOT NULL,
    version_name VARCHAR NOT NULL,
    unit         VARCHAR NOT NULL,
    worse        VARCHAR NOT NULL CHECK (worse IN ('more', 'less', 'either')),
    "value"      DOUBLE,
    reason       VARCHAR,
    provenance   JSON,
    code_version VARCHAR,
    measured_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (subject_kind, subject_id, metric),
    CHECK (("value" IS NULL) = (reason IS NOT NULL)),
    CHECK ("value" > '-infinity'::DOUBLE AND "value" < 'infinity'::DOUBLE)
);
COMMENT ON TABLE core.measurements IS 'A row is a value without a time axis that was measured of a run or another subject, or why there is none.';

-- ---- what run.json may say besides ---------------------------------------------------------------
ALTER TABLE core.runs ADD COLUMN device_unit VARCHAR;
ALTER TABLE core.runs ADD COLUMN path.element.screen_after VARCHAR;
ALTER TABLE core.runs ADD COLUMN path.element.state_hash_after VARCHAR;

-- ---- what else lies in a run folder --------------------------------------------------------------
CREATE TABLE core.attachments (
    run_id    VARCHAR NOT NULL,
    file_name VARCHAR NOT NULL,
    kind      VARCHAR NOT NULL,
    bytes     BIGINT NOT NULL CHECK (bytes >= 0),
    sha256    VARCHAR NOT NULL,
    ts_ns     BIGINT,
    PRIMARY KEY (run_id, file_name)
);
COMMENT ON TABLE core.attachments IS 'A row is a file of the run folder beside run.json and trace: a screenshot, video or log, registered by reference.';

-- ---- localisation follows the detector in force unless somebody chose a way ------------------------
UPDATE core.settings SET "value" = 'detector' WHERE name = 'localisation' AND note = 'default of the release';
