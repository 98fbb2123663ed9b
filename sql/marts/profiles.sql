-- A row is the profile of an anomalous series against its history, with the thresholds above which windows count.
CREATE VIEW marts.profiles AS
SELECT
    profiles.run_id,
    profiles.run_no,
    runs.app,
    runs.version_name,
    profiles.series,
    profiles.localisation,
    profiles.window_s,
    stored.profile,
    profiles.threshold_low,
    profiles.threshold_high,
    profiles.parameters_hash,
    profiles.code_version,
    profiles.computed_at
FROM core.profiles AS profiles
JOIN core.runs AS runs ON runs.run_no = profiles.run_no
LEFT JOIN core.profile_values AS stored
    ON stored.values_file = profiles.values_file AND stored.run_id = profiles.run_id AND stored.series = profiles.series
WHERE profiles.failure IS NULL;

COMMENT ON VIEW marts.profiles IS 'A row is the profile of an anomalous series against its history, with the thresholds above which windows count.';
