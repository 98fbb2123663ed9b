-- Tables of schema `core`, below the marts. Forward only: change them with a new migration.
-- Strings that end in _id are keys, *_at is UTC, a unit stands at the end of every number's name (_s _ns _bytes _ratio).

-- ---- runs --------------------------------------------------------------------------------------
CREATE TABLE core.runs (
    run_id                   VARCHAR NOT NULL PRIMARY KEY,
    partition_key            VARCHAR,
    app                      VARCHAR,
    version_name             VARCHAR,
    version_code             BIGINT,
    device                   VARCHAR,
    strategy                 VARCHAR,
    time_limit_s             DOUBLE CHECK (time_limit_s >= 0),
    action_interval_s        DOUBLE CHECK (action_interval_s >= 0),
    config_hash              VARCHAR,
    started_at               TIMESTAMPTZ,
    exploration_start_ns     BIGINT,
    exploration_end_ns       BIGINT,
    step_count               INTEGER CHECK (step_count >= 0),
    path                     STRUCT(step INTEGER, ts_ns BIGINT, state_hash VARCHAR, screen VARCHAR, action VARCHAR)[],
    functional_problem_count INTEGER CHECK (functional_problem_count >= 0),
    functional_problems      JSON,
    extra                    JSON,
    folder_name              VARCHAR NOT NULL,
    content_hash             VARCHAR NOT NULL,
    trace_file               VARCHAR,
    trace_bytes              BIGINT CHECK (trace_bytes >= 0),
    trace_sha256             VARCHAR,
    is_quarantined           BOOLEAN NOT NULL,
    reason_code              VARCHAR,
    reason                   VARCHAR,
    is_excluded              BOOLEAN NOT NULL DEFAULT false,
    exclude_reason           VARCHAR,
    registered_at            TIMESTAMPTZ NOT NULL,
    CHECK (is_quarantined = (reason_code IS NOT NULL)),
    CHECK (is_quarantined OR (app IS NOT NULL AND version_name IS NOT NULL AND started_at IS NOT NULL AND config_hash IS NOT NULL)),
    CHECK (exploration_end_ns >= exploration_start_ns)
);
COMMENT ON TABLE core.runs IS 'A row is a run folder that was given to the project, quarantined ones too.';
COMMENT ON COLUMN core.runs.run_id IS 'Key of the run; of a quarantined folder without a usable id: quarantined- and the start of its content hash.';
COMMENT ON COLUMN core.runs.partition_key IS 'Key app@version of the partition; NULL when quarantined before app and version were known.';
COMMENT ON COLUMN core.runs.app IS 'Android application id, the process name in the trace; as given, not normalised.';
COMMENT ON COLUMN core.runs.version_name IS 'Version of the app as its makers name it; as given.';
COMMENT ON COLUMN core.runs.version_code IS 'Android''s integer version; NULL when the run folder has none.';
COMMENT ON COLUMN core.runs.device IS 'Part D of the test configuration: the device.';
COMMENT ON COLUMN core.runs.strategy IS 'Part S of the test configuration: the exploration strategy.';
COMMENT ON COLUMN core.runs.time_limit_s IS 'Part T of the test configuration: time limit of the exploration, seconds.';
COMMENT ON COLUMN core.runs.action_interval_s IS 'Part I of the test configuration: time between two actions, seconds.';
COMMENT ON COLUMN core.runs.config_hash IS 'Hash of the whole configuration C; equal for runs that may be compared.';
COMMENT ON COLUMN core.runs.started_at IS 'When the run started (UTC).';
COMMENT ON COLUMN core.runs.exploration_start_ns IS 'Start of the exploration on the trace clock (BOOTTIME), ns; NULL when not recorded.';
COMMENT ON COLUMN core.runs.exploration_end_ns IS 'End of the exploration on the trace clock (BOOTTIME), ns; NULL when not recorded.';
COMMENT ON COLUMN core.runs.step_count IS 'Number of steps of the path.';
COMMENT ON COLUMN core.runs.path IS 'The path: per step its number, time on the trace clock, hash of the app''s state, screen and action.';
COMMENT ON COLUMN core.runs.functional_problem_count IS 'Number of functional problems F; runs with any are in no history.';
COMMENT ON COLUMN core.runs.functional_problems IS 'The functional problems as the run folder states them: kind, message, ts_ns.';
COMMENT ON COLUMN core.runs.extra IS 'Keys of run.json that the format does not know, kept as they are.';
COMMENT ON COLUMN core.runs.folder_name IS 'Name of the folder as it was given.';
COMMENT ON COLUMN core.runs.content_hash IS 'SHA-256 over the contents of the folder''s run.json and trace.';
COMMENT ON COLUMN core.runs.trace_file IS 'Name of the trace inside the run folder.';
COMMENT ON COLUMN core.runs.trace_bytes IS 'Size of the trace file, bytes.';
COMMENT ON COLUMN core.runs.trace_sha256 IS 'SHA-256 of the trace file.';
COMMENT ON COLUMN core.runs.is_quarantined IS 'The folder breaks the format: nothing of it is judged.';
COMMENT ON COLUMN core.runs.reason_code IS 'Why it is quarantined, a stable code; NULL otherwise.';
COMMENT ON COLUMN core.runs.reason IS 'Why it is quarantined, one sentence; NULL otherwise.';
COMMENT ON COLUMN core.runs.is_excluded IS 'Somebody took the run out by hand; it stays in the tables.';
COMMENT ON COLUMN core.runs.exclude_reason IS 'Why it was taken out.';
COMMENT ON COLUMN core.runs.registered_at IS 'When the folder was registered (UTC).';

-- ---- traces ------------------------------------------------------------------------------------
CREATE TABLE core.traces (
    run_id          VARCHAR NOT NULL PRIMARY KEY,
    is_complete     BOOLEAN NOT NULL,
    reason_code     VARCHAR,
    reason          VARCHAR,
    trace_sha256    VARCHAR,
    trace_bytes     BIGINT CHECK (trace_bytes >= 0),
    unpacked_bytes  BIGINT CHECK (unpacked_bytes >= 0),
    start_ns        BIGINT,
    end_ns          BIGINT,
    duration_s      DOUBLE CHECK (duration_s >= 0),
    packet_count    BIGINT CHECK (packet_count >= 0),
    data_sources    VARCHAR[],
    process_count   INTEGER CHECK (process_count >= 0),
    app_processes   VARCHAR[],
    health          JSON,
    engine          VARCHAR,
    engine_version  VARCHAR,
    engine_seconds  DOUBLE,
    code_version    VARCHAR,
    checked_at      TIMESTAMPTZ NOT NULL,
    CHECK (is_complete = (reason_code IS NULL))
);
COMMENT ON TABLE core.traces IS 'A row is what the gate found about a run''s trace.';
COMMENT ON COLUMN core.traces.run_id IS 'The run.';
COMMENT ON COLUMN core.traces.is_complete IS 'The trace is whole and holds what is needed; only then is the run judged or in a history.';
COMMENT ON COLUMN core.traces.reason_code IS 'Why it is not complete, a stable code; NULL when it is.';
COMMENT ON COLUMN core.traces.reason IS 'Why it is not complete, one sentence; NULL when it is.';
COMMENT ON COLUMN core.traces.trace_sha256 IS 'SHA-256 of the file that was checked.';
COMMENT ON COLUMN core.traces.trace_bytes IS 'Size of the file, bytes.';
COMMENT ON COLUMN core.traces.unpacked_bytes IS 'Size after unpacking, bytes.';
COMMENT ON COLUMN core.traces.start_ns IS 'First timestamp of the trace, BOOTTIME ns.';
COMMENT ON COLUMN core.traces.end_ns IS 'Last timestamp of the trace, BOOTTIME ns.';
COMMENT ON COLUMN core.traces.duration_s IS 'Time the trace covers, seconds.';
COMMENT ON COLUMN core.traces.packet_count IS 'Number of packets.';
COMMENT ON COLUMN core.traces.data_sources IS 'Data sources that are present.';
COMMENT ON COLUMN core.traces.process_count IS 'Number of processes in the trace.';
COMMENT ON COLUMN core.traces.app_processes IS 'Names of the app''s processes in the trace.';
COMMENT ON COLUMN core.traces.health IS 'The trace processor''s error and data-loss counters that are not zero.';
COMMENT ON COLUMN core.traces.engine IS 'Which trace processor was used: explicit, path, prebuilt, wasm or download.';
COMMENT ON COLUMN core.traces.engine_version IS 'Version of the trace processor.';
COMMENT ON COLUMN core.traces.engine_seconds IS 'Time spent in the trace processor, seconds.';
COMMENT ON COLUMN core.traces.code_version IS 'Version of this project that checked the trace.';
COMMENT ON COLUMN core.traces.checked_at IS 'When it was checked (UTC).';

-- ---- series ------------------------------------------------------------------------------------
CREATE TABLE core.time_series (
    run_id       VARCHAR NOT NULL,
    series       VARCHAR NOT NULL,
    unit         VARCHAR NOT NULL,
    interval_s   DOUBLE NOT NULL CHECK (interval_s > 0),
    start_ns     BIGINT,
    "values"     DOUBLE[],
    is_missing   BOOLEAN NOT NULL,
    reason       VARCHAR,
    code_version VARCHAR,
    extracted_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (run_id, series),
    CHECK (is_missing = ("values" IS NULL)),
    CHECK (is_missing OR start_ns IS NOT NULL)
);
COMMENT ON TABLE core.time_series IS 'A row is one series of a run on the common grid, or the reason why there is none.';
COMMENT ON COLUMN core.time_series.run_id IS 'The run.';
COMMENT ON COLUMN core.time_series.series IS 'Name of the series, such as cpu_app or rss_app.';
COMMENT ON COLUMN core.time_series.unit IS 'Unit of the values.';
COMMENT ON COLUMN core.time_series.interval_s IS 'Width of an interval of the grid, seconds.';
COMMENT ON COLUMN core.time_series.start_ns IS 'Start of the first interval on the trace clock (BOOTTIME), ns.';
COMMENT ON COLUMN core.time_series."values" IS 'One value per interval; NULL when the series is missing.';
COMMENT ON COLUMN core.time_series.is_missing IS 'The trace does not have what the series needs.';
COMMENT ON COLUMN core.time_series.reason IS 'Why the series is missing, one sentence; NULL when it is not.';
COMMENT ON COLUMN core.time_series.code_version IS 'Version of this project that extracted the series.';
COMMENT ON COLUMN core.time_series.extracted_at IS 'When it was extracted (UTC).';

-- ---- history -----------------------------------------------------------------------------------
CREATE TABLE core.history_sets (
    run_id             VARCHAR NOT NULL PRIMARY KEY,
    state              VARCHAR NOT NULL CHECK (state IN ('ready', 'not_enough_history')),
    history_size       INTEGER NOT NULL CHECK (history_size >= 0),
    history_maximum    INTEGER NOT NULL,
    history_minimum    INTEGER NOT NULL,
    similarity_minimum DOUBLE NOT NULL,
    candidate_count    INTEGER NOT NULL CHECK (candidate_count >= history_size),
    excluded_counts    JSON NOT NULL,
    explanation        VARCHAR,
    parameters_hash    VARCHAR NOT NULL,
    code_version       VARCHAR,
    selected_at        TIMESTAMPTZ NOT NULL,
    CHECK (history_size <= history_maximum)
);
COMMENT ON TABLE core.history_sets IS 'A row is a run''s history selection, with the counts that explain it.';
COMMENT ON COLUMN core.history_sets.run_id IS 'The run whose history it is.';
COMMENT ON COLUMN core.history_sets.state IS 'ready, or not_enough_history: then nothing is judged.';
COMMENT ON COLUMN core.history_sets.history_size IS 'Number of runs in the history.';
COMMENT ON COLUMN core.history_sets.history_maximum IS 'k: the most that a history may have.';
COMMENT ON COLUMN core.history_sets.history_minimum IS 'The fewest that a verdict needs.';
COMMENT ON COLUMN core.history_sets.similarity_minimum IS 'The lowest path similarity that was accepted, 0 to 1.';
COMMENT ON COLUMN core.history_sets.candidate_count IS 'Number of other runs of the app that were considered.';
COMMENT ON COLUMN core.history_sets.excluded_counts IS 'How many were left out, by reason: {"other_configuration": 3, …}.';
COMMENT ON COLUMN core.history_sets.explanation IS 'The selection in words.';
COMMENT ON COLUMN core.history_sets.parameters_hash IS 'Hash of the selection''s parameters.';
COMMENT ON COLUMN core.history_sets.code_version IS 'Version of this project that selected.';
COMMENT ON COLUMN core.history_sets.selected_at IS 'When it was selected (UTC).';

CREATE TABLE core.history_candidates (
    run_id           VARCHAR NOT NULL,
    history_run_id   VARCHAR NOT NULL,
    history_rank     INTEGER CHECK (history_rank >= 1),
    similarity_ratio DOUBLE CHECK (similarity_ratio BETWEEN 0 AND 1),
    exclude_reason   VARCHAR,
    PRIMARY KEY (run_id, history_run_id),
    CHECK ((history_rank IS NULL) <> (exclude_reason IS NULL))
);
COMMENT ON TABLE core.history_candidates IS 'A row is a run that was considered for another''s history: a member or a near miss with its reason.';
COMMENT ON COLUMN core.history_candidates.run_id IS 'The run whose history it is.';
COMMENT ON COLUMN core.history_candidates.history_run_id IS 'The earlier run that was considered.';
COMMENT ON COLUMN core.history_candidates.history_rank IS 'Place in the history, 1 is the latest; NULL for a near miss.';
COMMENT ON COLUMN core.history_candidates.similarity_ratio IS 'Ratcliff-Obershelp similarity of the paths, 0 to 1; NULL when it was not needed.';
COMMENT ON COLUMN core.history_candidates.exclude_reason IS 'Why it was left out; NULL for a member.';

-- ---- model -------------------------------------------------------------------------------------
CREATE TABLE core.barycenters (
    barycenter_id   VARCHAR NOT NULL PRIMARY KEY,
    "values"        DOUBLE[] NOT NULL,
    inertia         DOUBLE NOT NULL,
    iteration_count INTEGER NOT NULL,
    backend         VARCHAR NOT NULL,
    seconds         DOUBLE NOT NULL,
    code_version    VARCHAR,
    computed_at     TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE core.barycenters IS 'A row is a DBA barycenter; the same inputs are never averaged twice.';
COMMENT ON COLUMN core.barycenters.barycenter_id IS 'Hash of the input series and parameters.';
COMMENT ON COLUMN core.barycenters."values" IS 'The barycenter, one value per interval of the grid.';
COMMENT ON COLUMN core.barycenters.inertia IS 'Mean squared DTW distance of the series to the barycenter, before the last update.';
COMMENT ON COLUMN core.barycenters.iteration_count IS 'Iterations until the fixed point.';
COMMENT ON COLUMN core.barycenters.backend IS 'Which implementation computed it.';
COMMENT ON COLUMN core.barycenters.seconds IS 'Time it took, seconds.';
COMMENT ON COLUMN core.barycenters.code_version IS 'Version of this project that computed it.';
COMMENT ON COLUMN core.barycenters.computed_at IS 'When it was computed (UTC).';

CREATE TABLE core.run_barycenters (
    run_id        VARCHAR NOT NULL,
    series        VARCHAR NOT NULL,
    barycenter_id VARCHAR NOT NULL,
    PRIMARY KEY (run_id, series)
);
COMMENT ON TABLE core.run_barycenters IS 'A row says which barycenter stands for a run''s history of a series.';
COMMENT ON COLUMN core.run_barycenters.run_id IS 'The run that is judged.';
COMMENT ON COLUMN core.run_barycenters.series IS 'The series.';
COMMENT ON COLUMN core.run_barycenters.barycenter_id IS 'The barycenter of its history.';

CREATE TABLE core.distances (
    distance_id       BIGINT NOT NULL,
    run_id            VARCHAR NOT NULL,
    series            VARCHAR NOT NULL,
    detector          VARCHAR NOT NULL CHECK (detector IN ('iqr', 'default')),
    parameters_hash   VARCHAR NOT NULL,
    is_latest         BOOLEAN NOT NULL,
    state             VARCHAR NOT NULL CHECK (state IN ('scored', 'not_enough_history', 'incomplete_trace', 'series_missing')),
    state_reason      VARCHAR,
    distance          DOUBLE,
    q1                DOUBLE,
    q3                DOUBLE,
    improvement       DOUBLE,
    is_recheck_passed BOOLEAN,
    p_value           DOUBLE CHECK (p_value BETWEEN 0 AND 1),
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
    PRIMARY KEY (run_id, series, detector, parameters_hash),
    CHECK ((state = 'scored') = (distance IS NOT NULL)),
    CHECK (state <> 'scored' OR (q1 IS NOT NULL AND q3 IS NOT NULL AND q3 >= q1)),
    -- NaN compares as larger than everything, so it would be anomalous. Written without functions: DuckDB cannot
    -- replay its log after a crash when a CHECK calls one of an extension, isnan() among them.
    CHECK (distance <= 'infinity'::DOUBLE AND improvement <= 'infinity'::DOUBLE),
    CHECK (q1 > '-infinity'::DOUBLE AND q3 < 'infinity'::DOUBLE)
);
COMMENT ON TABLE core.distances IS 'A row is how far a run''s series is from its history, by one detector: all that a verdict at any ω needs.';
COMMENT ON COLUMN core.distances.distance_id IS 'Number of the row, the same for ever for the same run, series, detector and parameters.';
COMMENT ON COLUMN core.distances.run_id IS 'The run that is judged.';
COMMENT ON COLUMN core.distances.series IS 'The series; * is the run itself, all judged series together with the detector''s own correction.';
COMMENT ON COLUMN core.distances.detector IS 'iqr: the thesis'' rule; default: this project''s calibrated score.';
COMMENT ON COLUMN core.distances.parameters_hash IS 'Hash of all parameters of the detector and the history; rows of other parameters stay.';
COMMENT ON COLUMN core.distances.is_latest IS 'The parameters measured last for this run, series and detector.';
COMMENT ON COLUMN core.distances.state IS 'scored, or why there is nothing to judge.';
COMMENT ON COLUMN core.distances.state_reason IS 'The state in words when nothing was scored.';
COMMENT ON COLUMN core.distances.distance IS 'd; anomalous when above q3 + ω (q3 − q1). iqr: DTW distance to the barycenter; default: standard normal score.';
COMMENT ON COLUMN core.distances.q1 IS 'First quartile of the history''s own distances.';
COMMENT ON COLUMN core.distances.q3 IS 'Third quartile of the history''s own distances.';
COMMENT ON COLUMN core.distances.improvement IS 'The same as d for less load; NULL where the detector has no such side.';
COMMENT ON COLUMN core.distances.is_recheck_passed IS 'false: the second check takes the alarm away; NULL: there is no second check.';
COMMENT ON COLUMN core.distances.p_value IS 'Chance of such a distance without a regression; NULL where the detector has none.';
COMMENT ON COLUMN core.distances.direction IS 'Whether the run does more or less than its history.';
COMMENT ON COLUMN core.distances.history_distances IS 'Distances of the history''s runs to the barycenter, what the quartiles are taken of.';
COMMENT ON COLUMN core.distances.history_size IS 'Number of runs in the history.';
COMMENT ON COLUMN core.distances.evidence IS 'The detector''s measurements by name.';
COMMENT ON COLUMN core.distances.evidence_text IS 'The evidence in one sentence.';
COMMENT ON COLUMN core.distances.barycenter_id IS 'The barycenter that was compared with.';
COMMENT ON COLUMN core.distances.input_hash IS 'Hash of all input series.';
COMMENT ON COLUMN core.distances.k IS 'The most runs that the history could have.';
COMMENT ON COLUMN core.distances.interval_s IS 'Width of an interval of the series, seconds.';
COMMENT ON COLUMN core.distances.engine_version IS 'Version of the trace processor behind the series.';
COMMENT ON COLUMN core.distances.code_version IS 'Version of this project that measured.';
COMMENT ON COLUMN core.distances.measured_at IS 'When it was measured (UTC).';

-- ---- verdicts ----------------------------------------------------------------------------------
-- Narrow and without an index on purpose: 300,000 verdicts at a new ω are written in hundredths of a second, with
-- a primary key over the strings it took a second. warehouse/verdicts.py keeps (distance_id, omega) unique.
CREATE TABLE core.verdicts (
    distance_id  BIGINT NOT NULL,
    omega        DOUBLE NOT NULL CHECK (omega >= 0),
    state        VARCHAR NOT NULL,
    is_anomalous BOOLEAN,
    code_version VARCHAR,
    evaluated_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE core.verdicts IS 'A row is a verdict on a row of core.distances at one ω; old ones stay.';
COMMENT ON COLUMN core.verdicts.distance_id IS 'The measured distance that was judged.';
COMMENT ON COLUMN core.verdicts.omega IS 'ω, in interquartile ranges above the third quartile.';
COMMENT ON COLUMN core.verdicts.state IS 'anomalous, normal, improved, not_enough_history, incomplete_trace or series_missing.';
COMMENT ON COLUMN core.verdicts.is_anomalous IS 'NULL where nothing was judged.';
COMMENT ON COLUMN core.verdicts.code_version IS 'Version of this project that evaluated.';
COMMENT ON COLUMN core.verdicts.evaluated_at IS 'When it was first evaluated so (UTC).';

-- ---- localisation ------------------------------------------------------------------------------
CREATE TABLE core.profiles (
    run_id          VARCHAR NOT NULL,
    series          VARCHAR NOT NULL,
    localisation    VARCHAR NOT NULL,
    window_s        DOUBLE NOT NULL CHECK (window_s > 0),
    profile         DOUBLE[] NOT NULL,
    threshold_low   DOUBLE,
    threshold_high  DOUBLE,
    parameters_hash VARCHAR NOT NULL,
    code_version    VARCHAR,
    computed_at     TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (run_id, series)
);
COMMENT ON TABLE core.profiles IS 'A row is the profile of an anomalous series against its history, with its thresholds.';
COMMENT ON COLUMN core.profiles.run_id IS 'The run.';
COMMENT ON COLUMN core.profiles.series IS 'The series.';
COMMENT ON COLUMN core.profiles.localisation IS 'How it was made: default or thesis (matrix profile).';
COMMENT ON COLUMN core.profiles.window_s IS 'Length of a window, seconds.';
COMMENT ON COLUMN core.profiles.profile IS 'One value per window start on the series'' grid; NaN where the start and end of the session are left out.';
COMMENT ON COLUMN core.profiles.threshold_low IS 'Profile value above which a window counts.';
COMMENT ON COLUMN core.profiles.threshold_high IS 'Profile value above which a window counts with high confidence.';
COMMENT ON COLUMN core.profiles.parameters_hash IS 'Hash of the parameters.';
COMMENT ON COLUMN core.profiles.code_version IS 'Version of this project that computed it.';
COMMENT ON COLUMN core.profiles.computed_at IS 'When it was computed (UTC).';

CREATE TABLE core.discords (
    run_id        VARCHAR NOT NULL,
    series        VARCHAR NOT NULL,
    window_index  INTEGER NOT NULL CHECK (window_index >= 0),
    start_s       DOUBLE NOT NULL,
    end_s         DOUBLE NOT NULL,
    peak_s        DOUBLE NOT NULL,
    start_ns      BIGINT NOT NULL,
    end_ns        BIGINT NOT NULL,
    confidence    DOUBLE NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    profile_value DOUBLE NOT NULL,
    screens       VARCHAR[] NOT NULL,
    PRIMARY KEY (run_id, series, window_index),
    CHECK (start_s <= peak_s AND peak_s <= end_s),
    CHECK (start_ns <= end_ns)
);
COMMENT ON TABLE core.discords IS 'A row is a suspicious window of a series.';
COMMENT ON COLUMN core.discords.run_id IS 'The run.';
COMMENT ON COLUMN core.discords.series IS 'The series.';
COMMENT ON COLUMN core.discords.window_index IS 'Number of the window within run and series, from 0, by time.';
COMMENT ON COLUMN core.discords.start_s IS 'Start, seconds since the start of the series.';
COMMENT ON COLUMN core.discords.end_s IS 'End, seconds since the start of the series.';
COMMENT ON COLUMN core.discords.peak_s IS 'Most suspicious moment, seconds since the start of the series.';
COMMENT ON COLUMN core.discords.start_ns IS 'Start on the trace clock (BOOTTIME), ns.';
COMMENT ON COLUMN core.discords.end_ns IS 'End on the trace clock (BOOTTIME), ns.';
COMMENT ON COLUMN core.discords.confidence IS 'How sure the localisation is, 0 to 1.';
COMMENT ON COLUMN core.discords.profile_value IS 'Value of the profile at the peak.';
COMMENT ON COLUMN core.discords.screens IS 'Screens that the path shows during the window, in order.';

-- ---- people and settings -----------------------------------------------------------------------
CREATE TABLE core.settings (
    changed_at TIMESTAMPTZ NOT NULL,
    name       VARCHAR NOT NULL,
    "value"    VARCHAR NOT NULL,
    note       VARCHAR,
    PRIMARY KEY (name, changed_at)
);
COMMENT ON TABLE core.settings IS 'A row is a change of a current setting; the last one per name is in force.';
COMMENT ON COLUMN core.settings.changed_at IS 'When it was changed (UTC).';
COMMENT ON COLUMN core.settings.name IS 'Name of the setting.';
COMMENT ON COLUMN core.settings."value" IS 'Its new value.';
COMMENT ON COLUMN core.settings.note IS 'Why it was changed.';

CREATE TABLE core.reviews (
    reviewed_at TIMESTAMPTZ NOT NULL,
    run_id      VARCHAR NOT NULL,
    status      VARCHAR NOT NULL CHECK (status IN ('confirmed', 'rejected', 'accepted')),
    note        VARCHAR,
    reviewer    VARCHAR,
    PRIMARY KEY (run_id, reviewed_at)
);
COMMENT ON TABLE core.reviews IS 'A row is somebody''s judgement of a run; the last one per run is in force, none is deleted.';
COMMENT ON COLUMN core.reviews.reviewed_at IS 'When it was given (UTC).';
COMMENT ON COLUMN core.reviews.run_id IS 'The run.';
COMMENT ON COLUMN core.reviews.status IS 'confirmed: a regression, out of future histories; rejected: a false alarm; accepted: the new normal.';
COMMENT ON COLUMN core.reviews.note IS 'What was said about it.';
COMMENT ON COLUMN core.reviews.reviewer IS 'Who gave it.';

-- ---- quality, collection, notices, cost --------------------------------------------------------
CREATE TABLE core.evaluations (
    evaluation_id VARCHAR NOT NULL PRIMARY KEY,
    dataset       VARCHAR NOT NULL,
    protocol      VARCHAR NOT NULL,
    result        JSON NOT NULL,
    code_version  VARCHAR NOT NULL,
    evaluated_at  TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE core.evaluations IS 'A row is one measurement of quality on a labelled data set.';
COMMENT ON COLUMN core.evaluations.evaluation_id IS 'Key of the measurement.';
COMMENT ON COLUMN core.evaluations.dataset IS 'Name of the data set.';
COMMENT ON COLUMN core.evaluations.protocol IS 'How it was measured.';
COMMENT ON COLUMN core.evaluations.result IS 'The whole result as `perfreg evaluate` writes it.';
COMMENT ON COLUMN core.evaluations.code_version IS 'Version of this project that was measured.';
COMMENT ON COLUMN core.evaluations.evaluated_at IS 'When it was measured (UTC).';

CREATE TABLE core.collections (
    collection_id    VARCHAR NOT NULL PRIMARY KEY,
    run_id           VARCHAR,
    app              VARCHAR NOT NULL,
    version_name     VARCHAR NOT NULL,
    build_hash       VARCHAR,
    attempt          INTEGER NOT NULL CHECK (attempt >= 0),
    device_serial    VARCHAR,
    state            VARCHAR NOT NULL CHECK (state IN ('collected', 'failed')),
    reason_code      VARCHAR,
    reason           VARCHAR,
    trace_bytes      BIGINT,
    duration_s       DOUBLE,
    bytes_per_minute DOUBLE,
    leftover_path    VARCHAR,
    started_at       TIMESTAMPTZ NOT NULL,
    ended_at         TIMESTAMPTZ NOT NULL,
    CHECK ((state = 'failed') = (reason_code IS NOT NULL))
);
COMMENT ON TABLE core.collections IS 'A row is one attempt to collect a run from a device.';
COMMENT ON COLUMN core.collections.collection_id IS 'Key of the attempt.';
COMMENT ON COLUMN core.collections.run_id IS 'The run that came of it; NULL when it failed.';
COMMENT ON COLUMN core.collections.app IS 'Android application id.';
COMMENT ON COLUMN core.collections.version_name IS 'Version of the app.';
COMMENT ON COLUMN core.collections.build_hash IS 'Hash of the package that was installed.';
COMMENT ON COLUMN core.collections.attempt IS 'How often the build had been tried before.';
COMMENT ON COLUMN core.collections.device_serial IS 'Serial number of the device.';
COMMENT ON COLUMN core.collections.state IS 'collected or failed.';
COMMENT ON COLUMN core.collections.reason_code IS 'Why it failed, a stable code; NULL otherwise.';
COMMENT ON COLUMN core.collections.reason IS 'Why it failed, one sentence; NULL otherwise.';
COMMENT ON COLUMN core.collections.trace_bytes IS 'Size of the trace, bytes.';
COMMENT ON COLUMN core.collections.duration_s IS 'How long was recorded, seconds.';
COMMENT ON COLUMN core.collections.bytes_per_minute IS 'Growth of the trace, bytes per minute.';
COMMENT ON COLUMN core.collections.leftover_path IS 'A file still on the device, to be removed by `perfreg collect --sweep`; NULL when clean.';
COMMENT ON COLUMN core.collections.started_at IS 'When the attempt started (UTC).';
COMMENT ON COLUMN core.collections.ended_at IS 'When the attempt ended (UTC).';

CREATE TABLE core.notifications (
    notification_key VARCHAR NOT NULL PRIMARY KEY,
    run_id           VARCHAR NOT NULL,
    sent_at          TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE core.notifications IS 'A row is a regression that was posted to the webhook, so that none is posted twice.';
COMMENT ON COLUMN core.notifications.notification_key IS 'Key of the notice.';
COMMENT ON COLUMN core.notifications.run_id IS 'The run it is about.';
COMMENT ON COLUMN core.notifications.sent_at IS 'When it was claimed for sending (UTC).';

CREATE TABLE core.timings (
    run_id      VARCHAR NOT NULL,
    phase       VARCHAR NOT NULL,
    seconds     DOUBLE NOT NULL CHECK (seconds >= 0),
    measured_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (run_id, phase)
);
COMMENT ON TABLE core.timings IS 'A row is what one phase of the pipeline cost for a run.';
COMMENT ON COLUMN core.timings.run_id IS 'The run.';
COMMENT ON COLUMN core.timings.phase IS 'engine, series, history, model, verdict, warehouse, …';
COMMENT ON COLUMN core.timings.seconds IS 'Time it took, seconds.';
COMMENT ON COLUMN core.timings.measured_at IS 'When it was measured (UTC).';
