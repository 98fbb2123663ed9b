-- Verdicts on versions as a whole at any ω, their runs combined: SELECT * FROM marts.version_verdicts_at(0.5). At NULL: at every ω that was evaluated. Of the detector in force, or detector := 'iqr', 'all'.
-- depends: chosen_detector, counted_runs, current_value, critical_omega, excess_ratio_at, is_alarm_at, is_anomalous_state, is_omega, is_over_threshold, score_of_t, series_axes, sidak_score, t_of_score, threshold_at, unjudged_versions
CREATE MACRO marts.version_verdicts_at(omega, detector := NULL) AS TABLE
SELECT
    decided.app,
    decided.version_name,
    decided.axis,
    decided.detector,
    decided.omega,
    decided.state,
    marts.is_anomalous_state(decided.state) AS is_anomalous,
    decided.run_count,
    decided.judged_count,
    decided.anomalous_count,
    decided.score,
    marts.threshold_at(decided.q1, decided.q3, decided.omega) AS threshold,
    marts.excess_ratio_at(decided.score, decided.q1, decided.q3, decided.omega) AS excess_ratio,
    decided.improvement,
    decided.decisive.series AS series,
    decided.told.correlation AS repeat_correlation_ratio,
    concat(
        CASE WHEN decided.axis = 'all' THEN 'The version as a whole' ELSE decided.axis END,
        CASE decided.state
            WHEN 'anomalous' THEN CASE
                WHEN decided.is_over THEN ' is anomalous: '
                ELSE format(' is anomalous: {} of {} judged runs are, each by itself; ', decided.anomalous_count, decided.judged_count)
            END
            WHEN 'improved' THEN ' is improved: '
            WHEN 'normal' THEN ' is normal: '
            ELSE concat(
                ' is not judged: ', decided.decisive.series, CASE
                    WHEN len(decided.decisive.unjudged_states) > 1 THEN concat(' is judged in no run: ', array_to_string(list_transform(
                        decided.decisive.unjudged_states, lambda one: CASE one
                            WHEN 'series_missing' THEN 'it is missing'
                            WHEN 'incomplete_trace' THEN concat('no trace that can be judged', ' (' || decided.decisive.trace_reasons || ')')
                            ELSE 'too little history'
                        END
                    ), ', or '))
                    WHEN decided.state = 'series_missing' THEN ' is missing in all runs'
                    WHEN decided.state = 'incomplete_trace' THEN concat(' has in no run a trace that can be judged', ' (' || decided.decisive.trace_reasons || ')')
                    ELSE ' has too little history in every run'
                END, CASE WHEN decided.score IS NULL THEN '' ELSE '; of the rest ' END
            )
        END,
        CASE WHEN decided.score IS NULL THEN '' ELSE concat(
            format(
                '{} of {} judged {} together {} {:.4g}', decided.told.series, decided.judged_count,
                CASE WHEN decided.judged_count = 1 THEN 'run' ELSE 'runs' END,
                CASE WHEN decided.scale = 'score' THEN 'score' ELSE 'have the middle excess' END,
                CASE WHEN decided.state = 'improved' THEN decided.improvement ELSE decided.score END
            ),
            CASE
                WHEN decided.state = 'improved' OR marts.is_over_threshold(decided.score, decided.q1, decided.q3, decided.omega)
                THEN ', above ' ELSE ', not above '
            END,
            format('{:.4g} at ω {:.4g}', marts.threshold_at(decided.q1, decided.q3, decided.omega), decided.omega),
            CASE WHEN decided.state = 'anomalous' AND NOT decided.is_over THEN ''
                ELSE format('; {} of them anomalous by {}', decided.anomalous_count, CASE WHEN decided.anomalous_count = 1 THEN 'itself' ELSE 'themselves' END) END
        ) END,
        CASE
            WHEN decided.judged_count > 0 AND decided.run_count > decided.judged_count
            THEN format('; {} more not judged', decided.run_count - decided.judged_count) ELSE ''
        END,
        CASE WHEN decided.axis = 'all' AND decided.confirmed_count > 0 THEN concat(
            '; a review confirmed ',
            CASE WHEN decided.confirmed_count = 1 THEN 'a run of it as a regression' ELSE format('{} runs of it as regressions', decided.confirmed_count) END
        ) ELSE '' END,
        '.'
    ) AS explanation,
    (
        decided.detector = marts.current_value('detector')
        AND decided.omega = marts.current_value('omega')::DOUBLE
    ) AS is_current,
    decided.confirmed_count
FROM (
    SELECT
        parts.app,
        parts.version_name,
        parts.axis,
        parts.detector,
        parts.scale,
        parts.omega,
        any_value(parts.run_count) AS run_count,
        len(list_distinct(flatten(list(parts.judged)))) AS judged_count,
        len(list_distinct(list_transform(
            list_filter(flatten(list(parts.singles)), lambda one: marts.is_alarm_at(one.distance, one.q1, one.q3, one.is_recheck_passed, parts.omega)), lambda one: one.run_id
        ))) AS anomalous_count,
        -- Together, or most of them, or half of six and more, each by itself, which may be in different series.
        coalesce(bool_or(marts.is_over_threshold(parts.score, parts.q1, parts.q3, parts.omega)), false) AS is_over,
        any_value(parts.confirmed_count) AS confirmed_count,
        CASE
            WHEN is_over OR 2 * anomalous_count > judged_count
                OR (parts.scale = 'score' AND 2 * anomalous_count = judged_count AND judged_count >= 6) THEN 'anomalous'
            WHEN bool_or(parts.is_lacking) THEN 'series_missing'
            WHEN bool_or(marts.is_over_threshold(parts.improvement, parts.q1, parts.q3, parts.omega))
                AND NOT bool_or(coalesce(marts.is_over_threshold(parts.series_score, parts.q1, parts.q3, parts.omega), false))
                -- Somebody looked, and on which axis it is was not said.
                AND NOT (parts.axis = 'all' AND any_value(parts.confirmed_count) > 0) THEN 'improved'
            WHEN bool_or(parts.score IS NOT NULL) THEN 'normal'
            ELSE min(parts.unjudged_states[1])  -- their order by letter is that of a run's axis
        END AS state,
        max(parts.score) AS score,
        max(parts.improvement) AS improvement,
        any_value(parts.q1) AS q1,
        any_value(parts.q3) AS q3,
        arg_min(
            parts.naming,
            (
                CASE
                    WHEN marts.is_over_threshold(parts.score, parts.q1, parts.q3, parts.omega) THEN 1
                    WHEN parts.is_lacking THEN 2
                    WHEN parts.score IS NULL THEN 4
                    ELSE 3
                END,
                CASE WHEN parts.score IS NULL THEN parts.unjudged_states[1] ELSE '' END,  -- of those, one that the state is told of
                coalesce(-parts.score, 0),
                parts.series
            )
        ) AS worst,
        -- An improvement decides only where the state is one: beside another series that is over, that one is told.
        CASE
            WHEN state = 'improved' THEN arg_min(
                parts.naming, (coalesce(-parts.improvement, 0), parts.series)
            )
            ELSE worst
        END AS decisive,
        -- Whose score is told: the one that decides has none where it is missing.
        CASE
            WHEN state = 'series_missing' THEN arg_min(
                parts.naming, (-parts.score, parts.series)
            ) FILTER (WHERE parts.score IS NOT NULL)
            ELSE decisive
        END AS told
    FROM (
        SELECT
            combined.*,
            {
                'series': combined.series, 'correlation': combined.repeat_correlation, 'unjudged_states': combined.unjudged_states,
                'trace_reasons': combined.trace_reasons
            } AS naming,
            CASE WHEN levels.is_whole THEN 'all' ELSE combined.own_axis END AS axis,
            chosen.omega,
            CASE combined.scale
                WHEN 'score' THEN marts.sidak_score(combined.series_score, combined.series_count)
                ELSE combined.series_score
            END AS score,
            CASE combined.scale
                WHEN 'score' THEN marts.sidak_score(combined.series_improvement, combined.series_count)
            END AS improvement
        FROM (
            -- Of each series of a version: its runs' scores in one.
            SELECT
                grouped.*,
                max(grouped.judged_series) OVER (PARTITION BY grouped.app, grouped.version_name, grouped.detector) AS series_count,
                CASE
                    WHEN grouped.scale <> 'score' THEN grouped.middle
                    WHEN len(grouped.judged) = 1 THEN grouped.single_score
                    ELSE marts.score_of_t(
                        grouped.mean_t / sqrt(grouped.repeat_correlation + (1 - grouped.repeat_correlation) / len(grouped.judged)), grouped.degrees
                    )
                END AS series_score,
                CASE
                    WHEN len(grouped.judged) = 1 THEN grouped.single_improvement
                    ELSE marts.score_of_t(
                        grouped.mean_improvement_t / sqrt(grouped.repeat_correlation + (1 - grouped.repeat_correlation) / len(grouped.judged)),
                        grouped.degrees
                    )
                END AS series_improvement
            FROM (
                SELECT
                    entries.app,
                    entries.version_name,
                    entries.detector,
                    entries.series,
                    any_value(entries.scale) AS scale,
                    any_value(entries.own_axis) AS own_axis,
                    any_value(entries.run_count) AS run_count,
                    any_value(entries.confirmed_count) AS confirmed_count,
                    max(entries.judged_series) AS judged_series,
                    coalesce(list(entries.run_id) FILTER (WHERE entries.is_scored), []) AS judged,
                    coalesce(list({
                        'run_id': entries.run_id, 'distance': entries.distance, 'q1': entries.q1, 'q3': entries.q3, 'is_recheck_passed': entries.is_recheck_passed
                    }) FILTER (WHERE entries.is_scored), []) AS singles,
                    bool_or(entries.is_lacking) AND NOT bool_or(entries.is_scored) AS is_lacking,
                    list_sort(list_distinct(list(entries.state) FILTER (WHERE NOT entries.is_scored))) AS unjudged_states,
                    string_agg(DISTINCT entries.trace_reason, ', ' ORDER BY entries.trace_reason) AS trace_reasons,
                    CASE WHEN any_value(entries.scale) = 'score' THEN any_value(entries.q1) ELSE -1 END AS q1,
                    CASE WHEN any_value(entries.scale) = 'score' THEN any_value(entries.q3) ELSE 0 END AS q3,
                    -- More than half of the runs are above it: what a rule without a level can say of several.
                    quantile_disc(CASE WHEN entries.is_scored THEN greatest(-1, least(1000, entries.critical_omega)) END, 0.5) FILTER (WHERE entries.is_scored) AS middle,
                    any_value(entries.single) AS single_score,
                    any_value(entries.single_improvement) AS single_improvement,
                    avg(marts.t_of_score(entries.single_limited, entries.degrees) ORDER BY entries.run_id) AS mean_t,
                    avg(marts.t_of_score(entries.improvement_limited, entries.degrees) ORDER BY entries.run_id) AS mean_improvement_t,
                    any_value(entries.degrees) AS degrees,
                    max(entries.repeat_correlation) AS repeat_correlation
                FROM (
                    SELECT
                        -- There and back by the same degrees, those of the smallest history: by its own a score would lose on the way.
                        given.* REPLACE (min(given.degrees) OVER of_build AS degrees),
                        -- Beside others one run alone neither carries nor hides a regression (methods/repeats.py).
                        CASE WHEN given.single IS NOT NULL THEN
                            greatest(
                                least(-3, quantile_disc(given.single, 0.5) OVER of_build),
                                least(greatest(3, quantile_disc(given.single, 0.5) OVER of_build), given.single)
                            )
                        END AS single_limited,
                        CASE WHEN given.single_improvement IS NOT NULL THEN
                            greatest(
                                least(-3, quantile_disc(given.single_improvement, 0.5) OVER of_build),
                                least(greatest(3, quantile_disc(given.single_improvement, 0.5) OVER of_build), given.single_improvement)
                            )
                        END AS improvement_limited
                    FROM (
                        SELECT
                            measured.app,
                            measured.version_name,
                            measured.run_id,
                            measured.run_no,
                            measured.detector,
                            coalesce(lacking.series, measured.series) AS series,
                            coalesce(axes.axis, 'other') AS own_axis,
                            known.scale,
                            lacking.series IS NOT NULL AS is_lacking,
                            measured.state = 'scored' AND lacking.series IS NULL AS is_scored,
                            CASE WHEN lacking.series IS NULL THEN measured.state ELSE 'series_missing' END AS state,
                            CASE WHEN lacking.series IS NULL AND measured.state = 'incomplete_trace' THEN traces.reason_code END AS trace_reason,
                            measured.distance,
                            measured.is_recheck_passed,
                            measured.q1,
                            measured.q3,
                            marts.critical_omega(measured.distance, measured.q1, measured.q3, measured.is_recheck_passed) AS critical_omega,
                            CASE WHEN lacking.series IS NULL THEN coalesce(measured.uncorrected_distance, measured.distance) END AS single,
                            CASE WHEN lacking.series IS NULL THEN coalesce(
                                (measured.evidence ->> 'series_improvement')::DOUBLE,
                                -- Measurements of before do not say it; of ten series and more what is no improvement comes back too high.
                                marts.sidak_score(measured.improvement, 1 / measured.judged_series)
                            ) END AS single_improvement,
                            CASE WHEN lacking.series IS NULL AND measured.state = 'scored' THEN coalesce((measured.evidence ->> 'score_degrees')::DOUBLE, 4) END AS degrees,
                            CASE WHEN lacking.series IS NULL AND measured.state = 'scored' THEN coalesce((measured.evidence ->> 'repeat_correlation')::DOUBLE, 1) END AS repeat_correlation,
                            measured.judged_series,
                            measured.run_count,
                            measured.confirmed_count
                        FROM (
                            -- By version, too, so that a question about one looks at no other.
                            SELECT
                                latest.*,
                                runs.app,
                                runs.version_name,
                                runs.run_count,
                                runs.confirmed_count,
                                greatest(1, count(*) FILTER (WHERE latest.state = 'scored' AND latest.series <> '*')
                                    OVER (PARTITION BY runs.app, runs.version_name, latest.run_id, latest.detector)) AS judged_series
                            FROM core.distances AS latest
                            JOIN (
                                SELECT
                                    given.run_id,
                                    given.run_no,
                                    given.app,
                                    given.version_name,
                                    count(*) OVER of_version AS run_count,
                                    count(*) FILTER (WHERE given.is_confirmed) OVER of_version AS confirmed_count
                                FROM marts.counted_runs AS given
                                WINDOW of_version AS (PARTITION BY given.app, given.version_name)
                            ) AS runs ON runs.run_no = latest.run_no
                            WHERE latest.is_latest AND (detector::VARCHAR = 'all' OR latest.detector = marts.chosen_detector(detector))
                        ) AS measured
                        JOIN core.detectors AS known ON known.detector = measured.detector
                        LEFT JOIN core.traces AS traces ON traces.run_no = measured.run_no
                        LEFT JOIN (
                            SELECT whole.distance_id, unnest(whole.missing_series) AS series
                            FROM core.distances AS whole
                            WHERE whole.series = '*' AND whole.missing_series IS NOT NULL
                        ) AS lacking ON lacking.distance_id = measured.distance_id
                        LEFT JOIN marts.series_axes AS axes ON axes.series = coalesce(lacking.series, measured.series)
                        WHERE measured.series <> '*' OR lacking.series IS NOT NULL
                    ) AS given
                    WINDOW of_build AS (PARTITION BY given.app, given.version_name, given.detector, given.series)
                ) AS entries
                GROUP BY entries.app, entries.version_name, entries.detector, entries.series
            ) AS grouped
        ) AS combined
        CROSS JOIN (VALUES (true), (false)) AS levels (is_whole)
        CROSS JOIN (
            SELECT omega::DOUBLE AS omega WHERE marts.is_omega(omega)
            UNION
            SELECT given.omega FROM core.verdicts AS given WHERE omega::DOUBLE IS NULL
            UNION
            SELECT marts.current_value('omega')::DOUBLE WHERE omega::DOUBLE IS NULL
        ) AS chosen
    ) AS parts
    GROUP BY parts.app, parts.version_name, parts.axis, parts.detector, parts.scale, parts.omega
) AS decided
UNION ALL
-- What no run says anything of would be missing; in force, where several detectors or ω are asked for.
SELECT
    nothing.app,
    nothing.version_name,
    'all',
    chosen.detector,
    chosen.omega,
    nothing.state,
    NULL,
    nothing.run_count,
    0,
    0,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    nothing.explanation,
    chosen.detector = marts.current_value('detector') AND chosen.omega = marts.current_value('omega')::DOUBLE,
    NULL
FROM marts.unjudged_versions(detector) AS nothing
CROSS JOIN (
    SELECT
        marts.chosen_detector(nullif(detector::VARCHAR, 'all')) AS detector,
        CASE WHEN marts.is_omega(omega) THEN omega::DOUBLE ELSE marts.current_value('omega')::DOUBLE END AS omega
) AS chosen;

COMMENT ON MACRO TABLE marts.version_verdicts_at IS 'Verdicts on versions at any ω, columns as marts.version_verdicts; nothing is stored. SELECT * FROM marts.version_verdicts_at(0.5). At NULL: at every ω that was evaluated, and the one in force. Of the detector in force, or of another, or of all: detector := ''iqr'', detector := ''all''.';
