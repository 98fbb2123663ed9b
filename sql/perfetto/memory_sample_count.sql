-- Whether the trace has memory of any process at all.
SELECT count(*) AS sample_count
FROM counter AS c
JOIN process_counter_track AS t ON t.id = c.track_id
WHERE t.name GLOB 'mem.rss*';
