-- A row is a screen of a run, and what the cores cost while it was shown.
-- depends: energy_by_step
CREATE VIEW marts.energy_by_screen AS
SELECT
    steps.run_id,
    steps.run_no,
    steps.app,
    steps.version_name,
    steps.screen,
    sum(steps.duration_s) AS duration_s,
    sum(steps.app_mah) AS app_mah,
    sum(steps.total_mah) AS total_mah,
    sum(steps.app_mah) * 3600 / nullif(sum(steps.duration_s), 0) AS app_mah_per_h,
    sum(steps.total_mah) * 3600 / nullif(sum(steps.duration_s), 0) AS total_mah_per_h
FROM marts.energy_by_step AS steps
GROUP BY steps.run_id, steps.run_no, steps.app, steps.version_name, steps.screen;

COMMENT ON VIEW marts.energy_by_screen IS 'A row is a screen of a run, and what the cores cost while it was shown: which screen drains?';
