-- What the verdicts at any ω say about each axis (cpu, memory, …) of a run: SELECT * FROM marts.axis_verdicts_at(0.5). At NULL: those that were given. Of the detector in force, or detector := 'iqr', 'all'.
-- depends: is_anomalous_state, is_over_threshold, series_axes, verdicts_at
CREATE MACRO marts.axis_verdicts_at(omega, detector := NULL) AS TABLE
SELECT
    decided.run_id,
    decided.run_no,
    decided.app,
    decided.version_name,
    decided.started_at,
    decided.axis,
    decided.detector,
    decided.omega,
    decided.state,
    marts.is_anomalous_state(decided.state) AS is_anomalous,
    decided.decisive.series AS series,
    decided.decisive.excess_ratio AS excess_ratio,
    decided.decisive.explanation AS explanation,
    decided.is_current,
    decided.is_latest,
    CASE WHEN decided.state = 'series_missing' THEN CASE WHEN decided.is_lacking THEN 'run' ELSE 'run_and_history' END END AS missing_in,
    decided.parameters_hash
FROM (
    SELECT
        parts.run_id,
        parts.run_no,
        parts.app,
        parts.version_name,
        parts.started_at,
        parts.axis,
        parts.detector,
        parts.omega,
        parts.is_current,
        parts.is_latest,
        CASE
            WHEN bool_or(parts.state = 'anomalous') THEN 'anomalous'
            WHEN bool_or(parts.is_lacking) THEN 'series_missing'
            WHEN bool_or(parts.state = 'improved') AND NOT bool_or(parts.is_suspicious) THEN 'improved'
            WHEN bool_or(parts.state IN ('normal', 'improved')) THEN 'normal'
            ELSE min(parts.state)  -- their order by letter is the one below
        END AS state,
        bool_or(parts.is_lacking) AS is_lacking,
        any_value(parts.parameters_hash) AS parameters_hash,
        -- The first kind of state that decides; of several such series the one furthest out, improved ones on their own side.
        arg_min(
            {'series': parts.series, 'excess_ratio': parts.excess_ratio, 'explanation': parts.explanation},
            (
                CASE
                    WHEN parts.state = 'anomalous' THEN 1
                    WHEN parts.is_lacking THEN 2
                    WHEN parts.is_suspicious THEN 3
                    WHEN parts.state = 'improved' THEN 4
                    WHEN parts.state = 'normal' THEN 5
                    WHEN parts.state = 'incomplete_trace' THEN 6
                    WHEN parts.state = 'not_enough_history' THEN 7
                    ELSE 8
                END,
                coalesce(CASE parts.state WHEN 'improved' THEN -parts.improvement WHEN 'series_missing' THEN 0 ELSE -parts.critical_omega END, 0),
                parts.series
            )
        ) AS decisive
    FROM (
        SELECT entries.*, coalesce(axes.axis, 'other') AS axis
        FROM (
            SELECT
                judged.run_id, judged.run_no, judged.app, judged.version_name, judged.started_at, judged.detector, judged.omega,
                judged.is_current, judged.is_latest, judged.parameters_hash, judged.critical_omega, judged.improvement,
                coalesce(lacking.series, judged.series) AS series,
                lacking.series IS NOT NULL AS is_lacking,
                CASE WHEN lacking.series IS NULL THEN judged.state ELSE 'series_missing' END AS state,
                CASE WHEN lacking.series IS NULL THEN judged.excess_ratio END AS excess_ratio,
                CASE
                    WHEN lacking.series IS NULL THEN judged.explanation
                    ELSE 'Not judged, missing although the history has it.'
                END AS explanation,
                lacking.series IS NULL AND coalesce(
                    marts.is_over_threshold(coalesce(judged.uncorrected_distance, judged.distance), judged.q1, judged.q3, judged.omega), false
                ) AS is_suspicious
            FROM marts.verdicts_at(omega, detector) AS judged
            -- The verdict on the run (*) stands for the series that it lacks. The lists are taken apart before anything is
            -- joined: above joins that keeps filters from what is below, and DuckDB 2.0 fails on some of them.
            LEFT JOIN (
                SELECT whole.distance_id, whole.run_id, whole.run_no, unnest(whole.missing_series) AS series
                FROM core.distances AS whole
                WHERE whole.series = '*' AND whole.missing_series IS NOT NULL
            ) AS lacking
                -- By run too, although the distance says it all: a filter on it then reaches what is joined.
                ON lacking.distance_id = judged.distance_no AND lacking.run_no = judged.run_no
            WHERE judged.series <> '*' OR lacking.series IS NOT NULL
        ) AS entries
        LEFT JOIN marts.series_axes AS axes ON axes.series = entries.series
    ) AS parts
    -- What was measured by earlier parameters is a verdict of its own.
    GROUP BY
        parts.run_id, parts.run_no, parts.axis, parts.detector, parts.omega, parts.is_current, parts.is_latest,
        parts.app, parts.version_name, parts.started_at,  -- the run's own; as keys, so that filters on them go below
        CASE WHEN NOT parts.is_latest THEN parts.parameters_hash END
) AS decided;

COMMENT ON MACRO TABLE marts.axis_verdicts_at IS 'What the verdicts at any ω say about each axis of a run, columns as marts.axis_verdicts; nothing is stored. SELECT * FROM marts.axis_verdicts_at(0.5) WHERE is_latest. At NULL: from the verdicts that were given. Of the detector in force, or of another, or of all: detector := ''iqr'', detector := ''all''.';
