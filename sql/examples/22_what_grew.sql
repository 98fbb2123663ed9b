-- What grew in the suspicious windows, in how many runs of each version, and by how much?
SELECT version_name, series, kind, coalesce(process || ' · ' || thread, name) AS what, run_count, growth_median, z_median, run_ids
FROM marts.causes_by_version
ORDER BY run_count DESC, z_median DESC
LIMIT 20;
