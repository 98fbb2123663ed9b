-- A row is a thread of a run in a state, with the time it spent in it by second.
CREATE VIEW marts.thread_times AS
SELECT
    times.run_id,
    times.run_no,
    runs.app,
    runs.version_name,
    stored.process,
    stored.thread,
    stored.thread_state,
    stored.is_app,
    times.start_ns,
    list_sum(stored.times_ns) / 1e9 AS total_s,
    list_transform(stored.times_ns, lambda time_ns: time_ns / 1e9) AS times_s
FROM core.thread_times AS times
JOIN core.runs AS runs ON runs.run_no = times.run_no
JOIN core.thread_time_values AS stored ON stored.values_file = times.values_file AND stored.run_id = times.run_id;

COMMENT ON VIEW marts.thread_times IS 'A row is a thread of a run (all threads of one name together, numbers in names being #) in a state, with the time it spent in it by second. Over thread_state running the seconds of a run, divided by the width of an interval (interval_s), add up to cpu_total, with is_app to cpu_app.';
