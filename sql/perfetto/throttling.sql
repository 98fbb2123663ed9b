-- Levels that cooling devices were set to; 0 is no throttling.
SELECT c.ts, t.id AS track, c.value
FROM counter AS c
JOIN track AS t ON t.id = c.track_id
WHERE t.type = 'cooling_device_counter'
ORDER BY c.ts;
