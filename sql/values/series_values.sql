-- A row is the samples of a series in a file of the data folder; core.time_series says which file holds those that count.
-- Whoever joins it does so by values_file too: files that were replaced stay for a while, and with the name of a file
-- DuckDB opens that one alone.
CREATE OR REPLACE VIEW core.series_values AS
SELECT run_id, series, "values", file AS values_file
FROM read_parquet(core.data_files('series'), hive_partitioning = true, hive_types_autocast = false);

COMMENT ON VIEW core.series_values IS 'A row is the samples of a series in a file of the data folder; core.time_series says which file holds those that count.';
