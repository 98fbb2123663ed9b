-- Samples of memory by kind of all processes until end_ns, in bytes. mem.rss is of use where its parts are not sampled;
-- mem.smaps.… is there where /proc/<pid>/smaps_rollup was scanned.
SELECT c.ts, t.upid, t.name, c.value
FROM process_counter_track AS t
JOIN counter AS c ON c.track_id = t.id
WHERE
  t.name IN (
    'mem.rss', 'mem.rss.anon', 'mem.rss.file', 'mem.rss.shmem', 'mem.swap', 'mem.smaps.pss.anon', 'mem.smaps.pss.file',
    'mem.smaps.pss.shmem', 'mem.smaps.pss.smem', 'mem.smaps.swap.pss'
  )
  AND c.ts < :end_ns
ORDER BY t.upid, t.name, c.ts;
