-- The alarm bit of a state; NULL where nothing was judged, or not all that the history has.
CREATE MACRO marts.is_anomalous_state(state) AS
CASE WHEN state = 'anomalous' THEN true WHEN state IN ('normal', 'improved') THEN false END;

COMMENT ON MACRO marts.is_anomalous_state IS 'The alarm bit of a state: true when anomalous, false when normal or improved, NULL where nothing was judged or not all that the history has.';
