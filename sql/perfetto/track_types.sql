-- Kinds of counters and slices that have at least one track, such as cpu_frequency or process_memory.
SELECT DISTINCT type FROM track WHERE type IS NOT NULL ORDER BY type;
