-- Changes of each core's clock, in kHz.
SELECT c.ts, t.cpu, c.value AS khz
FROM counter AS c
JOIN cpu_counter_track AS t ON t.id = c.track_id
WHERE t.name = 'cpufreq'
ORDER BY c.ts;
