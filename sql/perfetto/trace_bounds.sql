-- First and last timestamp of anything in the trace, in trace nanoseconds; about how many scheduling slices it has (by
-- the last one's number: counting them reads all), and whether it has any slice of what apps and system tell of themselves.
SELECT
  start_ts,
  end_ts,
  (SELECT coalesce(max(id) + 1, 0) FROM sched_slice) AS sched_count,
  EXISTS (SELECT 1 FROM slice) AS has_slices
FROM trace_bounds;
