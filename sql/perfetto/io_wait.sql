-- When threads of the app waited for I/O; known only where sched_blocked_reason was recorded.
SELECT NULL AS ts, NULL AS dur, NULL AS track WHERE EXISTS (SELECT 1 FROM thread_state WHERE io_wait IS NOT NULL)
UNION ALL
SELECT ts, dur, utid AS track FROM thread_state WHERE io_wait = 1 AND utid IN (:utids);
