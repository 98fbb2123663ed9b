-- What grew in the suspicious windows of at least three runs of a version, and by how much?
SELECT app, version_name, series, kind, source, concat_ws(' · ', process, nullif(thread, name), name) AS what, run_count, growth_median, z_median,
    run_ids
FROM marts.causes_by_version
ORDER BY run_count DESC, z_median DESC
LIMIT 20;
