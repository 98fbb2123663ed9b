-- A row is a profile in a file of the data folder; core.profiles says which file holds those that count.
-- Whoever joins it does so by values_file too: files that were replaced stay for a while, and with the name of a file
-- DuckDB opens that one alone.
CREATE OR REPLACE VIEW core.profile_values AS
SELECT run_id, series, profile, file AS values_file
FROM read_parquet(core.data_files('profiles'), hive_partitioning = true, hive_types_autocast = false);

COMMENT ON VIEW core.profile_values IS 'A row is a profile in a file of the data folder; core.profiles says which file holds those that count.';
