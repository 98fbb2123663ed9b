-- Changes of each core's idle state: 0 and above is idle, 4294967295 (-1) is not.
SELECT c.ts, t.cpu, c.value
FROM cpu_counter_track AS t
CROSS JOIN counter AS c ON c.track_id = t.id
WHERE t.type = 'cpu_idle'
ORDER BY c.ts;
