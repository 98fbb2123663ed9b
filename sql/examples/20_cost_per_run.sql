-- What does reading the trace of a run cost, by phase?
SELECT phase, count(*) AS run_count, round(avg(seconds), 3) AS seconds_mean, round(max(seconds), 3) AS seconds_max
FROM marts.timings
GROUP BY phase
ORDER BY seconds_mean DESC;
