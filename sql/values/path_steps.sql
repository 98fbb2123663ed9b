-- A row is a step of a path in a file of the data folder; core.runs says which file holds those that count.
-- Whoever joins it does so by values_file too: files that were replaced stay for a while, and with the name of a file
-- DuckDB opens that one alone.
CREATE OR REPLACE VIEW core.path_steps AS
SELECT run_id, position, step, ts_ns, state_hash, screen, action, screen_after, state_hash_after, file AS values_file
FROM read_parquet(core.data_files('paths'), hive_partitioning = true, hive_types_autocast = false);

COMMENT ON VIEW core.path_steps IS 'A row is a step of a path in a file of the data folder; core.runs says which file holds those that count.';
