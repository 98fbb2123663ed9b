-- The clock of the trace's times, as BuiltinClock numbers it.
SELECT int_value AS clock_id
FROM metadata
WHERE name = 'trace_time_clock_id';
