-- What the app's threads told that they were doing and that overlaps [start_ns, end_ns); dur -1: it did not end. System
-- calls are no slices that anybody named.
SELECT s.id, s.ts, s.dur, s.name, s.depth, s.parent_id, t.utid
FROM slice AS s
JOIN thread_track AS t ON t.id = s.track_id
WHERE
  t.utid IN (:utids)
  AND s.ts < :end_ns
  AND (s.dur < 0 OR s.ts + s.dur >= :start_ns)
  AND s.name NOT GLOB 'sys_*'
ORDER BY s.depth, s.id;
