-- Levels that cooling devices were set to; 0 is no throttling.
SELECT c.ts, t.id AS track, c.value
FROM track AS t
CROSS JOIN counter AS c ON c.track_id = t.id
WHERE t.type = 'cooling_device_counter'
ORDER BY c.ts;
