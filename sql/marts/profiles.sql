-- A row is the profile of an anomalous series against its history, with the thresholds above which windows count.
CREATE VIEW marts.profiles AS
SELECT
    profiles.run_id,
    runs.app,
    runs.version_name,
    profiles.series,
    profiles.localisation,
    profiles.window_s,
    profiles.profile,
    profiles.threshold_low,
    profiles.threshold_high,
    profiles.parameters_hash,
    profiles.code_version,
    profiles.computed_at
FROM core.profiles AS profiles
JOIN core.runs AS runs ON runs.run_id = profiles.run_id;

COMMENT ON VIEW marts.profiles IS 'A row is the profile of an anomalous series against its history, with the thresholds above which windows count.';
COMMENT ON COLUMN marts.profiles.run_id IS 'The run.';
COMMENT ON COLUMN marts.profiles.app IS 'Android application id.';
COMMENT ON COLUMN marts.profiles.version_name IS 'Version of the app as its makers name it.';
COMMENT ON COLUMN marts.profiles.series IS 'Name of the series, such as cpu_app or rss_app.';
COMMENT ON COLUMN marts.profiles.localisation IS 'default, or thesis (matrix profile).';
COMMENT ON COLUMN marts.profiles.window_s IS 'Length of a window, seconds.';
COMMENT ON COLUMN marts.profiles.profile IS 'One value per window start on the series'' grid; NaN where start and end of the session are left out.';
COMMENT ON COLUMN marts.profiles.threshold_low IS 'Profile value above which a window counts.';
COMMENT ON COLUMN marts.profiles.threshold_high IS 'Profile value above which it counts with high confidence.';
COMMENT ON COLUMN marts.profiles.parameters_hash IS 'Hash of the parameters.';
COMMENT ON COLUMN marts.profiles.code_version IS 'Version of this project that made the row.';
COMMENT ON COLUMN marts.profiles.computed_at IS 'When it was computed (UTC).';
