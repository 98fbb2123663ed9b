-- How much of the device's CPU time does the app itself take, per version?
SELECT app.app, app.version_name, round(avg(app.mean), 3) AS app_cores, round(avg(total.mean), 3) AS all_cores,
    round(avg(app.mean) / avg(total.mean), 3) AS app_share_ratio
FROM marts.series_levels AS app
JOIN marts.series_levels AS total ON total.run_id = app.run_id AND total.series = 'cpu_total'
WHERE app.series = 'cpu_app'
GROUP BY app.app, app.version_name
ORDER BY app.app, min(app.started_at);
