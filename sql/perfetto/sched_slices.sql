-- Which thread was on which core and when (dur -1: end not recorded), for slices that begin in
-- [first_ns, last_ns]. One page of a large table.
SELECT ts, dur, cpu, utid
FROM sched_slice
WHERE ts BETWEEN :first_ns AND :last_ns
ORDER BY ts;
