-- How much of the device's CPU time does the app itself take, per version, in the same scenario and configuration?
SELECT app.app, runs.device, runs.scenario, app.version_name, round(avg(app.mean), 3) AS app_cores,
    round(avg(total.mean), 3) AS all_cores, round(avg(app.mean) / avg(total.mean), 3) AS app_share_ratio
FROM marts.series_levels AS app
JOIN marts.series_levels AS total ON total.run_no = app.run_no AND total.series = 'cpu_total'
JOIN marts.counted_runs AS runs ON runs.run_no = app.run_no
WHERE app.series = 'cpu_app'
GROUP BY app.app, runs.device, runs.config_hash, runs.scenario, app.version_name
ORDER BY app.app, runs.device, runs.config_hash, runs.scenario, min(app.started_at);
