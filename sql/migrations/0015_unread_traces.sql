-- Traces, and profiles beside them, that could not be read when a run's causes were looked for: they are tried again when
-- the file is another. Without an index, as all tables that grow with the runs: warehouse/unread_traces.py keeps it unique.
CREATE TABLE core.unread_traces (
    run_id     VARCHAR NOT NULL,
    member_id  VARCHAR NOT NULL,
    file_name  VARCHAR NOT NULL,
    file_state VARCHAR NOT NULL,
    reason     VARCHAR NOT NULL
);
COMMENT ON TABLE core.unread_traces IS 'A row is a trace, or a profile beside one, that could not be read when the causes of a run were looked for: its own or one of its history.';

-- What lies beside a trace is known by its content from now on; of what was registered before only the name is known.
UPDATE core.attachments SET kind = 'method_trace' WHERE kind = 'other' AND lower(file_name) LIKE '%.trace';
UPDATE core.attachments SET kind = 'call_stacks' WHERE kind = 'other' AND lower(file_name) LIKE '%perf.data';
