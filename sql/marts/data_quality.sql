-- A row is something that keeps a run or a series from being judged, or should be looked at.
-- depends: current_value, dated_ahead, earliest_start, is_alarm_at, reasons
CREATE VIEW marts.data_quality AS
SELECT
    findings.run_id, findings.run_no, runs.app, runs.version_name, runs.started_at, findings.scope, findings.series, findings.reason_code,
    coalesce(findings.detail, reasons.sentence) AS detail,
    -- What is wrong with a series blocks where the run is judged by that series.
    coalesce(findings.is_blocking, wanted.run_no IS NOT NULL) AS is_blocking
FROM (
    SELECT run_id, run_no, 'run' AS scope, NULL::VARCHAR AS series, reason_code, reason AS detail, true AS is_blocking
    FROM core.runs WHERE is_quarantined
    UNION ALL
    SELECT run_id, run_no, 'run', NULL, 'excluded', exclude_reason, false
    FROM core.runs WHERE is_excluded
    UNION ALL
    SELECT run_id, run_no, 'run', NULL, 'functional_problems', format('{} functional problems: the run is in no history.', functional_problem_count), false
    FROM core.runs WHERE functional_problem_count > 0
    UNION ALL
    SELECT run_id, run_no, 'run', NULL, 'functional_problems_unknown', NULL, false
    FROM core.runs WHERE functional_problem_count IS NULL AND NOT is_quarantined
    UNION ALL
    SELECT run_id, run_no, 'run', NULL, 'time_limit_missed',
        format('The exploration took {:.1f} s, the time limit is {:.1f} s.', (exploration_end_ns - exploration_start_ns) / 1e9, time_limit_s), false
    FROM core.runs WHERE (exploration_end_ns - exploration_start_ns) / 1e9 > 1.1 * time_limit_s AND scenario IS NULL -- a script ends when it is done
    UNION ALL
    SELECT run_id, run_no, 'run', NULL, 'dated_ahead', marts.dated_ahead(started_at, registered_at), false
    FROM core.runs WHERE marts.dated_ahead(started_at, registered_at) IS NOT NULL AND NOT is_quarantined
    UNION ALL
    SELECT run_id, run_no, 'trace', NULL, reason_code, reason, true
    FROM core.traces WHERE NOT is_complete
    UNION ALL
    SELECT run_id, run_no, 'trace', NULL, 'trace_file_missing', 'The file is gone; what was read of it before stays.', false
    FROM core.traces WHERE is_trace_gone
    UNION ALL
    SELECT runs.run_id, runs.run_no, 'trace', NULL, 'not_checked', NULL, true
    FROM core.runs AS runs LEFT JOIN core.traces AS traces ON traces.run_no = runs.run_no
    WHERE NOT runs.is_quarantined AND traces.run_id IS NULL
    UNION ALL
    SELECT run_id, run_no, 'series', series, coalesce(reason_code, 'series_missing'), reason, NULL
    FROM core.time_series WHERE is_missing
    UNION ALL
    SELECT
        lacking.run_id, lacking.run_no, 'run', NULL, 'series_missing',
        -- What is anomalous without them is judged all the same, as of any verdict.
        concat(
            CASE WHEN lacking.is_alarm THEN 'Missing' ELSE 'The run as a whole is not judged, missing' END,
            ' although the history has it: ', array_to_string(lacking.missing_series, ', '), '.'
        ),
        NOT lacking.is_alarm
    FROM (
        SELECT
            whole.run_id, whole.run_no, whole.missing_series,
            coalesce(
                whole.state = 'scored' AND marts.is_alarm_at(
                    whole.distance, whole.q1, whole.q3, whole.is_recheck_passed, marts.current_value('omega')::DOUBLE
                ), false
            ) AS is_alarm
        FROM core.distances AS whole
        WHERE whole.is_latest AND whole.series = '*' AND whole.missing_series IS NOT NULL
            AND whole.detector = marts.current_value('detector')
    ) AS lacking
    UNION ALL
    SELECT run_id, run_no, 'series', series, 'not_finite', format('{} of {} samples are not finite.', not_finite_count, sample_count), NULL
    FROM core.time_series WHERE not_finite_count > 0
    UNION ALL
    SELECT run_id, run_no, 'series', series, 'empty', NULL, NULL
    FROM core.time_series WHERE sample_count = 0
    UNION ALL
    -- Metrics that a run reports of itself and that cannot be used: one without a number, say, or that is there twice.
    SELECT subject_id, run_no, 'series', metric, provenance ->> '$.reason_code', reason, NULL
    FROM core.measurements WHERE subject_kind = 'run' AND "value" IS NULL AND provenance ->> '$.reason_code' IS NOT NULL
    UNION ALL
    -- What the trace has, and what is not judged all the same: too few of its history have it, or it is too short.
    SELECT
        judged.run_id, judged.run_no, 'series', judged.series,
        CASE judged.state WHEN 'series_missing' THEN coalesce(kept.reason_code, 'series_too_short') ELSE judged.state END,
        judged.state_reason, true
    FROM core.distances AS judged
    LEFT JOIN core.time_series AS kept
        ON kept.run_id = judged.run_id AND kept.run_no = judged.run_no AND kept.series = judged.series
    LEFT JOIN core.history_sets AS sets ON sets.run_id = judged.run_id AND sets.run_no = judged.run_no
    LEFT JOIN core.distances AS whole
        ON whole.run_id = judged.run_id AND whole.run_no = judged.run_no AND whole.is_latest AND whole.series = '*' AND whole.detector = judged.detector
    WHERE judged.is_latest AND judged.series <> '*' AND judged.detector = marts.current_value('detector')
        AND (
            (judged.state = 'not_enough_history' AND (sets.state = 'ready' OR whole.state = 'scored'))
            OR (judged.state = 'series_missing' AND NOT kept.is_missing AND kept.sample_count > 0)
        )
    UNION ALL
    SELECT sets.run_id, sets.run_no, 'history', NULL, 'not_enough_history',
        coalesce(sets.explanation, format('{} comparable earlier runs, {} are needed.', sets.history_size, sets.history_minimum)),
        beside.run_id IS NULL
    FROM core.history_sets AS sets
    LEFT JOIN ( -- with too few runs of its path it may be judged beside those of any
        SELECT judged.run_id, judged.run_no FROM core.distances AS judged
        WHERE judged.is_latest AND judged.series = '*' AND judged.state = 'scored' AND judged.detector = marts.current_value('detector')
    ) AS beside ON beside.run_no = sets.run_no
    WHERE sets.state = 'not_enough_history'
    UNION ALL
    SELECT runs.run_id, runs.run_no, 'collection', NULL, 'leftover_on_device', format('{} is still on device {}.', attempts.leftover_path, attempts.device_serial), false
    FROM core.collections AS attempts JOIN core.runs AS runs ON runs.run_id = attempts.run_id WHERE attempts.leftover_path IS NOT NULL
) AS findings
-- By id too, so that a question by it reads no other run.
JOIN core.runs AS runs ON runs.run_id = findings.run_id AND runs.run_no = findings.run_no
LEFT JOIN (
    SELECT judged.run_id, judged.run_no, judged.series FROM core.distances AS judged
    WHERE judged.is_latest AND judged.series <> '*' AND judged.detector = marts.current_value('detector')
) AS wanted ON wanted.run_id = findings.run_id AND wanted.run_no = findings.run_no AND wanted.series = findings.series
LEFT JOIN marts.reasons AS reasons ON reasons.reason_code = findings.reason_code
UNION ALL
SELECT
    benchmark_run_id, NULL, app, version_name, started_at, 'benchmark', NULL, 'dated_ahead',
    marts.dated_ahead(marts.earliest_start(started_at, environment), imported_at), false
FROM core.benchmark_runs WHERE marts.dated_ahead(marts.earliest_start(started_at, environment), imported_at) IS NOT NULL;

COMMENT ON VIEW marts.data_quality IS 'A row is something that keeps a run or a series from being judged, or should be looked at.';
