-- A verdict in words, with every number of the rule in it.
CREATE MACRO marts.verdict_explanation(series, detector, verdict_state, state_reason, evidence_text, distance, q1, q3, improvement, is_recheck_passed, history_size, omega) AS
CASE
    WHEN verdict_state NOT IN ('anomalous', 'normal', 'improved') THEN
        coalesce(state_reason, CASE verdict_state
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
            ELSE ' is normal: '
        END,
        CASE WHEN detector = 'iqr' THEN 'distance ' ELSE 'score ' END,
        format('{:.4g}', CASE WHEN verdict_state = 'improved' THEN improvement ELSE distance END),
        CASE
            WHEN verdict_state = 'improved' OR distance > q3 + omega * (q3 - q1) THEN ' is above '
            ELSE ' is not above '
        END,
        format('{:.4g} = q3 {:.4g} + ω {:.4g} × (q3 − q1) {:.4g}', q3 + omega * (q3 - q1), q3, omega, q3 - q1),
        CASE WHEN history_size IS NULL THEN '' ELSE format(', from {} comparable earlier runs', history_size) END,
        CASE
            WHEN verdict_state <> 'anomalous' AND distance > q3 + omega * (q3 - q1) AND is_recheck_passed = false
            THEN '; the second check takes the alarm away, its percentiles lie among those of the history'
            ELSE ''
        END,
        '.'
    )
END;

COMMENT ON MACRO marts.verdict_explanation IS 'A verdict at ω in words: the detector''s evidence, then the rule with its numbers, or why nothing was judged.';
