-- On which screens do suspicious windows fall most often?
SELECT app, screen, count(*) AS window_count, count(DISTINCT run_id) AS run_count
FROM (SELECT app, run_id, unnest(screens) AS screen FROM marts.discords)
GROUP BY app, screen
ORDER BY window_count DESC, app, screen;
