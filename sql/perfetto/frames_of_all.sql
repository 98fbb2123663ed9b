-- Frames as shown that overlap [start_ns, end_ns), of all processes; dur -1: not ended.
SELECT ts, dur, upid, jank_type
FROM actual_frame_timeline_slice
WHERE ts < :end_ns AND (dur < 0 OR ts + dur >= :start_ns)
ORDER BY ts, id;
