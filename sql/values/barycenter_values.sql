-- A row is a barycenter in a file of the data folder; core.barycenters says which file holds those that count.
-- Whoever joins it does so by values_file too: files that were replaced stay for a while, and with the name of a file
-- DuckDB opens that one alone.
CREATE OR REPLACE VIEW core.barycenter_values AS
SELECT barycenter_id, "values", file AS values_file
FROM read_parquet(core.data_files('barycenters'), hive_partitioning = true, hive_types_autocast = false);

COMMENT ON VIEW core.barycenter_values IS 'A row is a barycenter in a file of the data folder; core.barycenters says which file holds those that count.';
