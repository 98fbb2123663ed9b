-- What gets a little worse with every version, since when, and by how much in all?
SELECT app, device, explanation, round(100 * drift_change_ratio, 1) AS change_percent, drift_p_value
FROM marts.drifts
WHERE drift_state IN ('worse', 'changing', 'not_enough_versions')
ORDER BY drift_p_value, app, series, measure
LIMIT 20;
