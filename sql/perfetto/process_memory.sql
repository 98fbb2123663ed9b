-- Samples of the memory counters of some processes, in bytes.
SELECT c.ts, t.upid, t.name, c.value
FROM counter AS c
JOIN process_counter_track AS t ON t.id = c.track_id
WHERE t.upid IN (:upids)
  AND t.name IN ('mem.rss', 'mem.rss.anon', 'mem.rss.file', 'mem.rss.shmem', 'mem.swap')
ORDER BY c.ts;
