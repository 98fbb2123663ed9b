-- A row is a stack of a suspicious window in a file of the data folder; core.cause_runs says which file holds those that
-- count. Whoever joins it does so by values_file too: files that were replaced stay for a while, and with the name of a
-- file DuckDB opens that one alone.
CREATE OR REPLACE VIEW core.cause_stack_values AS
SELECT
    run_id, position, series, window_index, source, process, thread, stack, "value", history_median, file AS values_file
FROM read_parquet(core.data_files('cause_stacks'), hive_partitioning = true, hive_types_autocast = false);

COMMENT ON VIEW core.cause_stack_values IS 'A row is a stack of a suspicious window in a file of the data folder; core.cause_runs says which file holds those that count.';
