-- What went wrong while recording or reading the trace: every counter above 0 of the two severities that matter, with
-- the core, buffer or process it is of. What a buffer that takes nothing once it is full (DISCARD) turned away is lost,
-- too; the trace processor counts it as mere information, because rings discard chunks that lost nothing.
SELECT name, idx, severity, value
FROM stats
WHERE severity IN ('error', 'data_loss') AND value > 0
UNION ALL
SELECT discarded.name, discarded.idx, 'data_loss', discarded.value
FROM stats AS discarded
JOIN stats AS policy ON policy.idx = discarded.idx
WHERE policy.name = 'config_write_into_file_discard' AND policy.value > 0
  AND discarded.name = 'traced_buf_chunks_discarded' AND discarded.value > 0
ORDER BY name, idx;
