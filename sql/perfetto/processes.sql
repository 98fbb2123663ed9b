-- All processes. Names are compared by the caller: text from a trace never enters a statement.
SELECT upid, pid, name, start_ts, end_ts FROM process ORDER BY upid;
