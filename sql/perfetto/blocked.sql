-- When threads of the app could not run: in uninterruptible sleep, or blocked in a function of the kernel that the trace
-- tells (sched_blocked_reason). A row that the trace processor left open (dur -1) ends with the thread's next one. Two
-- plain conditions cost a tenth of one with OR.
SELECT
  s.ts,
  CASE
    WHEN s.dur >= 0 THEN s.dur
    ELSE coalesce((SELECT min(n.ts) - s.ts FROM thread_state AS n WHERE n.utid = s.utid AND n.ts > s.ts), -1)
  END AS dur,
  s.utid,
  s.state,
  s.blocked_function
FROM thread_state AS s
WHERE s.state GLOB 'D*' AND s.utid IN (:utids)
UNION ALL
SELECT
  s.ts,
  CASE
    WHEN s.dur >= 0 THEN s.dur
    ELSE coalesce((SELECT min(n.ts) - s.ts FROM thread_state AS n WHERE n.utid = s.utid AND n.ts > s.ts), -1)
  END,
  s.utid,
  s.state,
  s.blocked_function
FROM thread_state AS s
WHERE s.blocked_function IS NOT NULL AND s.state GLOB '[SI]*' AND s.utid IN (:utids);
