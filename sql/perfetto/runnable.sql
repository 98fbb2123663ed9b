-- When threads of the app could run and had no core. Without sched_waking the time from a wake-up to the core is not
-- known; a thread's creation looks like its first wake-up, so more wake-ups than threads say that they were recorded.
-- A row that the trace processor left open (dur -1) ends with the thread's next one.
WITH woken AS (
  SELECT count(*) > count(DISTINCT utid) AS is_recorded FROM thread_state WHERE waker_utid IS NOT NULL
),
states AS (
  SELECT ts, dur, utid, state, lead(ts) OVER (PARTITION BY utid ORDER BY ts) AS next_ts
  FROM thread_state
  WHERE utid IN (:utids)
)
SELECT NULL AS ts, NULL AS dur, NULL AS track FROM woken WHERE is_recorded
UNION ALL
SELECT ts, iif(dur < 0, coalesce(next_ts - ts, -1), dur) AS dur, utid AS track
FROM states
WHERE state IN ('R', 'R+') AND (SELECT is_recorded FROM woken);
