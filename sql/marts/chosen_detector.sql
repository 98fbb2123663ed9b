-- The detector that a macro at any ω answers for: by its name, at NULL the one in force, NULL for 'all', an error for what is none.
-- depends: current_value, detectors
CREATE MACRO marts.chosen_detector(wanted) AS
CASE
    WHEN wanted::VARCHAR = 'all' THEN NULL
    WHEN wanted::VARCHAR IS NULL THEN marts.current_value('detector')
    WHEN (SELECT count(*) FROM marts.detectors AS known WHERE known.detector = wanted::VARCHAR) = 1
        OR wanted::VARCHAR = marts.current_value('detector') THEN wanted::VARCHAR  -- which need not be installed here
    ELSE error('no detector ''' || wanted::VARCHAR || ''': one of marts.detectors, or ''all''')
END;

COMMENT ON MACRO marts.chosen_detector IS 'The detector that a macro at any ω answers for: by its name, at NULL the one in force, NULL for ''all'' of them, an error for what is none.';
