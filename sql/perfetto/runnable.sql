-- When threads of the app could run and had no core. Without sched_waking the time from a wake-up to the core is not
-- known; a thread's creation looks like its first wake-up, so more wake-ups than threads say that they were recorded.
-- A row that the trace processor left open (dur -1) ends with the thread's next one.
WITH woken AS MATERIALIZED (
  SELECT count(*) > count(DISTINCT utid) AS is_recorded FROM thread_state WHERE waker_utid IS NOT NULL
)
SELECT NULL AS ts, NULL AS dur, NULL AS track FROM woken WHERE is_recorded
UNION ALL
SELECT
  s.ts,
  CASE
    WHEN s.dur >= 0 THEN s.dur
    ELSE coalesce((SELECT min(n.ts) - s.ts FROM thread_state AS n WHERE n.utid = s.utid AND n.ts > s.ts), -1)
  END AS dur,
  s.utid AS track
FROM woken CROSS JOIN thread_state AS s
WHERE woken.is_recorded AND s.state IN ('R', 'R+') AND s.utid IN (:utids);
