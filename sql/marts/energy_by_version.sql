-- A row is a version in a scenario on a device, and what the cores cost per hour in its runs.
-- depends: energy_by_run, counted_runs
CREATE VIEW marts.energy_by_version AS
SELECT
    app,
    version_name,
    device,
    profile_id,
    count(*) AS run_count,
    median(app_mah_per_h) AS app_mah_per_h,
    median(total_mah_per_h) AS total_mah_per_h,
    median(battery_ratio_per_h) AS battery_ratio_per_h,
    median(app_change_ratio) AS app_change_ratio,
    median(total_change_ratio) AS total_change_ratio,
    scenario
FROM marts.energy_by_run SEMI JOIN marts.counted_runs USING (run_no)
GROUP BY app, version_name, device, profile_id, scenario;

COMMENT ON VIEW marts.energy_by_version IS 'A row is a version in a scenario on a device by a power profile: medians over its runs that count (marts.counted_runs) of what the cores cost per hour, of the share of the battery that is, and of the change to each run''s history.';
