-- Whether the trace says of any wait if it was for I/O.
SELECT count(*) AS wait_count FROM (SELECT 1 FROM thread_state WHERE io_wait IS NOT NULL LIMIT 1);
