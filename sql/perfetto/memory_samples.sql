-- Whether the trace has memory of any process at all.
SELECT EXISTS (
  SELECT 1
  FROM process_counter_track AS t
  CROSS JOIN counter AS c ON c.track_id = t.id
  WHERE t.name GLOB 'mem.rss*'
) AS has_samples;
