-- First and last timestamp of anything in the trace, in trace nanoseconds.
SELECT start_ts, end_ts FROM trace_bounds;
