-- When Chrome's CPU profiler sampled each thread, for the time between two samples; the first 20,000.
SELECT ts, utid FROM cpu_profile_stack_sample ORDER BY utid, ts LIMIT 20000;
