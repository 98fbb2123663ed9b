-- What each rail has taken since the device started, in µJ: every sample, also equal ones.
SELECT c.ts, t.name, c.value AS microjoules
FROM counter_track AS t
CROSS JOIN counter AS c ON c.track_id = t.id
WHERE t.type = 'power_rails'
ORDER BY c.ts;
