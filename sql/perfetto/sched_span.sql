-- How much scheduling data there is and from when to when; dur is -1 for a slice whose end was not recorded.
SELECT count(*) AS slice_count, min(ts) AS first_ts, max(ts + max(dur, 0)) AS last_ts FROM sched_slice;
