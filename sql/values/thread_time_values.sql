-- A row is a thread in a state in a file of the data folder; core.thread_times says which file holds those that count.
-- Whoever joins it does so by values_file too: files that were replaced stay for a while, and with the name of a file
-- DuckDB opens that one alone.
CREATE OR REPLACE VIEW core.thread_time_values AS
SELECT run_id, position, process, thread, thread_state, is_app, times_ns, file AS values_file
FROM read_parquet(core.data_files('thread_times'), hive_partitioning = true, hive_types_autocast = false);

COMMENT ON VIEW core.thread_time_values IS 'A row is a thread in a state in a file of the data folder; core.thread_times says which file holds those that count.';
