-- What threads told that they were doing (atrace sections, lock contention, binder calls) and that overlaps
-- [start_ns, end_ns); dur -1: it did not end.
SELECT s.id, s.ts, s.dur, s.name, s.depth, s.parent_id, t.utid
FROM slice AS s
JOIN thread_track AS t ON t.id = s.track_id
WHERE s.ts < :end_ns AND (s.dur < 0 OR s.ts + s.dur >= :start_ns)
ORDER BY s.depth, s.id;
