-- What perf's counter had counted at its samples, by core: the steps say what one sample stands for. The first 20,000 are
-- enough for that.
SELECT t.id AS track, t.name AS counter, c.value
FROM perf_counter_track AS t
JOIN counter AS c ON c.track_id = t.id
WHERE t.is_timebase
ORDER BY t.id, c.ts
LIMIT 20000;
