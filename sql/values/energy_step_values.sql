-- A row is a step's charge in a file of the data folder; core.energy_runs says which file holds those that count.
-- Whoever joins it does so by values_file too: files that were replaced stay for a while, and with the name of a file
-- DuckDB opens that one alone.
CREATE OR REPLACE VIEW core.energy_step_values AS
SELECT run_id, position, step_index, screen, duration_s, app_mah, total_mah, file AS values_file
FROM read_parquet(core.data_files('energy_steps'), hive_partitioning = true, hive_types_autocast = false);

COMMENT ON VIEW core.energy_step_values IS 'A row is a step''s charge in a file of the data folder; core.energy_runs says which file holds those that count.';
