-- Memory that GPU drivers hold for each of the app's processes, in bytes, at every change.
SELECT c.ts, t.upid AS track, c.value
FROM counter AS c
JOIN process_counter_track AS t ON t.id = c.track_id
WHERE t.type = 'process_gpu_memory' AND t.upid IN (:upids)
ORDER BY c.ts;
