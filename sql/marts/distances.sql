-- A row is what a detector measured about a run's series: all that a verdict at any ω needs.
-- depends: settings
CREATE VIEW marts.distances AS
SELECT
    measured.run_id,
    runs.app,
    runs.version_name,
    runs.started_at,
    measured.series,
    measured.detector,
    measured.state,
    measured.state_reason,
    measured.distance,
    measured.q1,
    measured.q3,
    measured.improvement,
    measured.is_recheck_passed,
    measured.p_value,
    measured.direction,
    measured.history_distances,
    measured.history_size,
    measured.evidence,
    measured.evidence_text,
    (
        measured.is_latest
        AND measured.detector = (SELECT chosen."value" FROM marts.settings AS chosen WHERE chosen.name = 'detector' AND chosen.is_current)
    ) AS is_current,
    measured.is_latest,
    measured.barycenter_id,
    measured.parameters_hash,
    measured.input_hash,
    measured.k,
    measured.interval_s,
    measured.engine_version,
    measured.code_version,
    measured.measured_at
FROM core.distances AS measured
JOIN core.runs AS runs ON runs.run_id = measured.run_id;

COMMENT ON VIEW marts.distances IS 'A row is what a detector measured about a run''s series: all that a verdict at any ω needs.';
COMMENT ON COLUMN marts.distances.run_id IS 'The run that is judged.';
COMMENT ON COLUMN marts.distances.app IS 'Android application id.';
COMMENT ON COLUMN marts.distances.version_name IS 'Version of the app as its makers name it.';
COMMENT ON COLUMN marts.distances.started_at IS 'When the run started (UTC).';
COMMENT ON COLUMN marts.distances.series IS 'The series, or * for the run as a whole.';
COMMENT ON COLUMN marts.distances.detector IS 'iqr (the thesis'' rule) or default (this project''s calibrated score).';
COMMENT ON COLUMN marts.distances.state IS 'scored, or why there is nothing to judge.';
COMMENT ON COLUMN marts.distances.state_reason IS 'The state in words when nothing was scored.';
COMMENT ON COLUMN marts.distances.distance IS 'd. iqr: DTW distance; default: standard normal score.';
COMMENT ON COLUMN marts.distances.q1 IS 'First quartile of the history''s own distances.';
COMMENT ON COLUMN marts.distances.q3 IS 'Third quartile of the history''s own distances.';
COMMENT ON COLUMN marts.distances.improvement IS 'The same as d for less load; NULL where the detector has no such side.';
COMMENT ON COLUMN marts.distances.is_recheck_passed IS 'false: a second check takes the alarm away; NULL: no second check.';
COMMENT ON COLUMN marts.distances.p_value IS 'Chance of such a distance without a regression.';
COMMENT ON COLUMN marts.distances.direction IS 'more or less than the history.';
COMMENT ON COLUMN marts.distances.history_distances IS 'Distances of the history''s runs: the box of a box plot.';
COMMENT ON COLUMN marts.distances.history_size IS 'Number of runs in the history.';
COMMENT ON COLUMN marts.distances.evidence IS 'The detector''s measurements by name, as JSON.';
COMMENT ON COLUMN marts.distances.evidence_text IS 'The evidence in one sentence.';
COMMENT ON COLUMN marts.distances.is_current IS 'By the configured detector with the latest parameters: one row per run and series.';
COMMENT ON COLUMN marts.distances.is_latest IS 'Measured with the latest parameters of this run, series and detector.';
COMMENT ON COLUMN marts.distances.barycenter_id IS 'Key of the barycenter: hash of its input series and parameters.';
COMMENT ON COLUMN marts.distances.parameters_hash IS 'Hash of the parameters.';
COMMENT ON COLUMN marts.distances.input_hash IS 'Hash of all input series.';
COMMENT ON COLUMN marts.distances.k IS 'The most runs that the history could have.';
COMMENT ON COLUMN marts.distances.interval_s IS 'Width of an interval of the grid, seconds.';
COMMENT ON COLUMN marts.distances.engine_version IS 'Version of the trace processor behind the series.';
COMMENT ON COLUMN marts.distances.code_version IS 'Version of this project that made the row.';
COMMENT ON COLUMN marts.distances.measured_at IS 'When it was measured (UTC).';
