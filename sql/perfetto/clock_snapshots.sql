-- What a clock showed at moments of the trace.
SELECT ts AS trace_ns, clock_value AS clock_ns
FROM clock_snapshot
WHERE clock_id = :clock_id
ORDER BY ts, clock_value;
