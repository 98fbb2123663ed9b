-- Temperatures of the thermal zones in degrees Celsius: kernel events in thousandths, polls in whole ones. Some zones
-- are no thermometers or are switched off; what no device survives is left out.
SELECT ts, track, value
FROM (
  SELECT c.ts, t.id AS track, CASE t.type WHEN 'thermal_temperature' THEN c.value / 1000.0 ELSE c.value END AS value
  FROM track AS t
  CROSS JOIN counter AS c ON c.track_id = t.id
  WHERE t.type IN ('thermal_temperature', 'thermal_temperature_sys')
)
WHERE value BETWEEN -40 AND 150
ORDER BY ts;
