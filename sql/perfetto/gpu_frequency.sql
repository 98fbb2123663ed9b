-- Changes of each GPU's clock in kHz, 0 when it is off. The track holds what the driver or the poll says: kHz, Hz
-- (kgsl) or MHz (sys_stats), which no GPU's clock confuses.
SELECT
  c.ts,
  t.gpu_id AS track,
  CASE WHEN c.value >= 1e7 THEN c.value / 1e3 WHEN c.value < 1e4 THEN c.value * 1e3 ELSE c.value END AS value
FROM gpu_counter_track AS t
CROSS JOIN counter AS c ON c.track_id = t.id
WHERE t.type = 'gpu_frequency'
ORDER BY c.ts;
