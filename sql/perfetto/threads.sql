-- All threads with their process. tid 0 is the idle task of each core: its time is not CPU use.
SELECT utid, tid, upid, end_ts, name FROM thread ORDER BY utid;
