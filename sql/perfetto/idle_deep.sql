-- Whether each core is in an idle state deeper than the first: 0 is the first, 4294967295 (-1) is not idle.
SELECT c.ts, t.cpu AS track, c.value BETWEEN 1 AND 4294967294 AS value
FROM cpu_counter_track AS t
CROSS JOIN counter AS c ON c.track_id = t.id
WHERE t.type = 'cpu_idle'
ORDER BY c.ts;
