-- From when to when perf took samples.
SELECT min(ts) AS first_ns, max(ts) AS last_ns
FROM perf_sample;
