-- Samples of call stacks in [start_ns, end_ns): of perf (linux.perf, simpleperf) and of Chrome's CPU profiler, and native
-- allocations of the app (heapprofd), whose weight is bytes: less where memory was freed. callsite_id NULL: no stack.
SELECT 'perf' AS source, ts, utid, NULL AS upid, callsite_id, 1 AS weight
FROM perf_sample
WHERE ts >= :start_ns AND ts < :end_ns
UNION ALL
SELECT 'cpu_profile', ts, utid, NULL, callsite_id, 1
FROM cpu_profile_stack_sample
WHERE ts >= :start_ns AND ts < :end_ns
UNION ALL
SELECT 'heap', ts, NULL, upid, callsite_id, size
FROM heap_profile_allocation
WHERE ts >= :start_ns AND ts < :end_ns;
