-- A row is a method's charge in a file of the data folder; core.method_energies says which file holds those that count.
-- Whoever joins it does so by values_file too: files that were replaced stay for a while, and with the name of a file
-- DuckDB opens that one alone.
CREATE OR REPLACE VIEW core.method_energy_values AS
SELECT run_id, position, process, thread, method, call_count, method_self_mah, method_mah, file AS values_file
FROM read_parquet(core.data_files('method_energies'), hive_partitioning = true, hive_types_autocast = false);

COMMENT ON VIEW core.method_energy_values IS 'A row is a method''s charge in a file of the data folder; core.method_energies says which file holds those that count.';
