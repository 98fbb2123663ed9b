-- Periods in which GPUs worked for the app, with the time they were busy for it. The app is known by its user (uid).
INCLUDE PERFETTO MODULE android.gpu.work_period;
SELECT NULL AS ts, NULL AS dur, NULL AS track, NULL AS busy_ns
WHERE EXISTS (SELECT 1 FROM slice AS s JOIN android_gpu_work_period_track AS t ON t.id = s.track_id)
UNION ALL
SELECT s.ts, s.dur, t.id AS track, s.thread_dur AS busy_ns
FROM slice AS s
JOIN android_gpu_work_period_track AS t ON t.id = s.track_id
WHERE t.uid IN (:uids);
