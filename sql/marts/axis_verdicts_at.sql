-- What the verdicts at any ω say about each axis (cpu, memory, …) of a run: SELECT * FROM marts.axis_verdicts_at(0.5). At NULL: those that were given.
-- depends: is_anomalous_state, is_over_threshold, verdicts_at
CREATE MACRO marts.axis_verdicts_at(omega) AS TABLE
SELECT
    decided.run_id,
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
    decided.is_latest
FROM (
    SELECT
        parts.run_id,
        any_value(parts.app) AS app,
        any_value(parts.version_name) AS version_name,
        any_value(parts.started_at) AS started_at,
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
        SELECT entries.*, coalesce(axes.axis, own.axis, 'other') AS axis
        FROM (
            -- The verdict on the run (*) stands for the series that it lacks.
            SELECT
                judged.run_id, judged.app, judged.version_name, judged.started_at, judged.detector, judged.omega,
                judged.is_current, judged.is_latest, judged.parameters_hash, judged.critical_omega, judged.improvement,
                unnest(CASE WHEN judged.series = '*' THEN judged.missing_series ELSE [judged.series] END) AS series,
                judged.series = '*' AS is_lacking,
                CASE WHEN judged.series = '*' THEN 'series_missing' ELSE judged.state END AS state,
                CASE WHEN judged.series <> '*' THEN judged.excess_ratio END AS excess_ratio,
                CASE WHEN judged.series <> '*' THEN judged.explanation ELSE 'Not judged, missing although the history has it.' END AS explanation,
                judged.series <> '*' AND coalesce(
                    marts.is_over_threshold(coalesce(judged.uncorrected_distance, judged.distance), judged.q1, judged.q3, judged.omega), false
                ) AS is_suspicious
            FROM marts.verdicts_at(omega) AS judged
        ) AS entries
        LEFT JOIN (
            SELECT names.series, known.axis
            FROM (
                SELECT measured.series FROM core.distances AS measured
                UNION
                SELECT unnest(measured.missing_series) FROM core.distances AS measured
            ) AS names
            JOIN core.series_definitions AS known ON regexp_full_match(names.series, known.name_pattern)
        ) AS axes ON axes.series = entries.series
        -- What the app or its test reports of itself is in no catalogue.
        LEFT JOIN (SELECT DISTINCT reported.metric, 'app' AS axis FROM core.measurements AS reported) AS own ON own.metric = entries.series
    ) AS parts
    -- What was measured by earlier parameters is a verdict of its own.
    GROUP BY
        parts.run_id, parts.axis, parts.detector, parts.omega, parts.is_current, parts.is_latest,
        CASE WHEN NOT parts.is_latest THEN parts.parameters_hash END
) AS decided;

COMMENT ON MACRO TABLE marts.axis_verdicts_at IS 'What the verdicts at any ω say about each axis of a run, columns as marts.axis_verdicts; nothing is stored. SELECT * FROM marts.axis_verdicts_at(0.5) WHERE is_latest. At NULL: from the verdicts that were given.';
