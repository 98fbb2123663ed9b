-- A row is something that keeps a run or a series from being judged, or should be looked at.
CREATE VIEW marts.data_quality AS
SELECT findings.run_id, runs.app, runs.version_name, runs.started_at, findings.scope, findings.series, findings.reason_code, findings.detail, findings.is_blocking
FROM (
    SELECT run_id, 'run' AS scope, NULL::VARCHAR AS series, reason_code, reason AS detail, true AS is_blocking
    FROM core.runs WHERE is_quarantined
    UNION ALL
    SELECT run_id, 'run', NULL, 'excluded', exclude_reason, false
    FROM core.runs WHERE is_excluded
    UNION ALL
    SELECT run_id, 'run', NULL, 'functional_problems', format('{} functional problems: the run is in no history.', functional_problem_count), false
    FROM core.runs WHERE functional_problem_count > 0
    UNION ALL
    SELECT run_id, 'run', NULL, 'functional_problems_unknown', 'run.json does not say whether functional problems were found: the run is in no history.', false
    FROM core.runs WHERE functional_problem_count IS NULL AND NOT is_quarantined
    UNION ALL
    SELECT run_id, 'run', NULL, 'time_limit_missed',
        format('The exploration took {:.1f} s, the time limit is {:.1f} s.', (exploration_end_ns - exploration_start_ns) / 1e9, time_limit_s), false
    FROM core.runs WHERE (exploration_end_ns - exploration_start_ns) / 1e9 > 1.1 * time_limit_s
    UNION ALL
    SELECT run_id, 'trace', NULL, reason_code, reason, true
    FROM core.traces WHERE NOT is_complete
    UNION ALL
    SELECT runs.run_id, 'trace', NULL, 'not_checked', 'The trace was not looked at yet.', true
    FROM core.runs AS runs LEFT JOIN core.traces AS traces ON traces.run_id = runs.run_id
    WHERE NOT runs.is_quarantined AND traces.run_id IS NULL
    UNION ALL
    SELECT run_id, 'series', series, 'series_missing', reason, series IN (SELECT judged.series FROM core.distances AS judged)
    FROM core.time_series WHERE is_missing
    UNION ALL
    SELECT run_id, 'series', series, 'not_finite', format('{} of {} samples are not finite.', not_finite_count, sample_count), true
    FROM (
        SELECT run_id, series, len("values") AS sample_count, len(list_filter("values", lambda sample: NOT isfinite(sample))) AS not_finite_count
        FROM core.time_series WHERE NOT is_missing
    ) AS counted WHERE not_finite_count > 0
    UNION ALL
    SELECT run_id, 'series', series, 'empty', 'The series has no sample.', true
    FROM core.time_series WHERE len("values") = 0
    UNION ALL
    SELECT run_id, 'history', NULL, 'not_enough_history',
        coalesce(explanation, format('{} comparable earlier runs, {} are needed.', history_size, history_minimum)), true
    FROM core.history_sets WHERE state = 'not_enough_history'
    UNION ALL
    SELECT run_id, 'collection', NULL, 'leftover_on_device', format('{} is still on device {}.', leftover_path, device_serial), false
    FROM core.collections WHERE leftover_path IS NOT NULL AND run_id IS NOT NULL
) AS findings
JOIN core.runs AS runs ON runs.run_id = findings.run_id;

COMMENT ON VIEW marts.data_quality IS 'A row is something that keeps a run or a series from being judged, or should be looked at.';
COMMENT ON COLUMN marts.data_quality.run_id IS 'The run.';
COMMENT ON COLUMN marts.data_quality.app IS 'Android application id; NULL when quarantined before it was known.';
COMMENT ON COLUMN marts.data_quality.version_name IS 'Version of the app; NULL when quarantined before it was known.';
COMMENT ON COLUMN marts.data_quality.started_at IS 'When the run started (UTC).';
COMMENT ON COLUMN marts.data_quality.scope IS 'What it is about: run, trace, series, history or collection.';
COMMENT ON COLUMN marts.data_quality.series IS 'The series, where it is about one.';
COMMENT ON COLUMN marts.data_quality.reason_code IS 'Stable code of the finding.';
COMMENT ON COLUMN marts.data_quality.detail IS 'The finding in one sentence.';
COMMENT ON COLUMN marts.data_quality.is_blocking IS 'The run or series is not judged because of it; a missing series that is never judged does not block.';
