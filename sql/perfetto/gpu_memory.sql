-- Memory that GPU drivers hold for each of the app's processes, in bytes, at every change.
SELECT c.ts, t.upid AS track, c.value
FROM process_counter_track AS t
CROSS JOIN counter AS c ON c.track_id = t.id
WHERE t.type = 'process_gpu_memory' AND t.upid IN (:upids)
ORDER BY c.ts;
