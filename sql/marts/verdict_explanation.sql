-- A verdict in words, with every number of the rule in it.
-- depends: is_over_threshold, threshold_at
CREATE MACRO marts.verdict_explanation(series, scale, verdict_state, measured_state, state_reason, evidence_text, distance, q1, q3, improvement, uncorrected_distance, missing_series, judged_series, is_recheck_passed, history_size, omega) AS
CASE
    WHEN measured_state <> 'scored' THEN
        coalesce(state_reason, CASE measured_state
            WHEN 'not_enough_history' THEN 'Not judged: too few comparable earlier runs.'
            WHEN 'incomplete_trace' THEN 'Not judged: the trace is not whole.'
            WHEN 'series_missing' THEN 'Not judged: the trace does not have this series.'
        END)
    ELSE concat(
        CASE WHEN evidence_text IS NULL THEN '' ELSE rtrim(evidence_text, '. ') || '. ' END,
        CASE WHEN series = '*' THEN 'The run as a whole' ELSE series END,
        CASE verdict_state
            WHEN 'anomalous' THEN ' is anomalous: '
            WHEN 'improved' THEN ' is improved: '
            WHEN 'series_missing' THEN format(
                ' is not judged, missing although the history has it: {}; of what was judged ({}) the ',
                array_to_string(missing_series, ', '), judged_series
            )
            ELSE ' is normal: '
        END,
        scale, ' ',
        format('{:.4g}', CASE WHEN verdict_state = 'improved' THEN improvement ELSE distance END),
        CASE
            WHEN verdict_state = 'improved' OR marts.is_over_threshold(distance, q1, q3, omega) THEN ' is above '
            ELSE ' is not above '
        END,
        format('{:.4g} = q3 {:.4g} + ω {:.4g} × (q3 − q1) {:.4g}', marts.threshold_at(q1, q3, omega), q3, omega, q3 - q1),
        CASE WHEN history_size IS NULL THEN '' ELSE format(', from {} comparable earlier runs', history_size) END,
        CASE
            WHEN verdict_state <> 'anomalous' AND marts.is_over_threshold(distance, q1, q3, omega) AND is_recheck_passed = false
            THEN '; the second check takes the alarm away, its percentiles lie among those of the history'
            ELSE ''
        END,
        CASE
            WHEN verdict_state = 'normal' AND marts.is_over_threshold(improvement, q1, q3, omega)
            THEN format(
                '; less load ({} {:.4g}) is no improvement while more load, not corrected for the number of series ({} {:.4g}), is above it too',
                scale, improvement, scale, coalesce(uncorrected_distance, distance)
            )
            ELSE ''
        END,
        CASE
            WHEN verdict_state = 'anomalous' AND len(missing_series) > 0
            THEN format('; missing although the history has it: {}', array_to_string(missing_series, ', '))
            ELSE ''
        END,
        '.'
    )
END;

COMMENT ON MACRO marts.verdict_explanation IS 'A verdict at ω in words: the detector''s evidence, then the rule with its numbers, or why nothing was judged. scale is the word for the distance; judged_series names what was judged beside missing_series.';
