-- Which thread was on which core and when (dur -1: end not recorded), for slices that begin in [from_ns, to_ns). One page of a large table.
SELECT ts, dur, cpu, utid
FROM sched_slice
WHERE ts >= :from_ns AND ts < :to_ns
ORDER BY ts;
