-- Changes of each core's clock, in kHz, and of its idle state: 0 and above is idle, 4294967295 (-1) is not.
SELECT c.ts, t.cpu, c.value, t.name = 'cpuidle' AS is_idle_state
FROM cpu_counter_track AS t
CROSS JOIN counter AS c ON c.track_id = t.id
WHERE t.name IN ('cpufreq', 'cpuidle')
ORDER BY c.ts;
