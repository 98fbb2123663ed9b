-- Bytes that the app's processes hold on their native heaps, by heapprofd's dumps.
SELECT ts, upid AS track, sum(sum(size)) OVER (PARTITION BY upid ORDER BY ts) AS value
FROM heap_profile_allocation
WHERE upid IN (:upids)
GROUP BY upid, ts;
