-- A row is a slice on a screen in a file of the data folder; core.slice_uses says which file holds those that count.
-- Whoever joins it does so by values_file too: files that were replaced stay for a while, and with the name of a file
-- DuckDB opens that one alone.
CREATE OR REPLACE VIEW core.slice_use_values AS
SELECT
    run_id, position, screen, process, thread, slice, call_count, called_ns, max_ns, self_ns, total_ns, screen_ns,
    file AS values_file
FROM read_parquet(core.data_files('slice_uses'), hive_partitioning = true, hive_types_autocast = false);

COMMENT ON VIEW core.slice_use_values IS 'A row is a slice on a screen in a file of the data folder; core.slice_uses says which file holds those that count.';
