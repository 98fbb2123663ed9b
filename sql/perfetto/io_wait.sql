-- When threads waited for I/O; io_wait is known only where sched_blocked_reason was recorded.
SELECT ts, dur, utid FROM thread_state WHERE io_wait = 1 ORDER BY ts;
