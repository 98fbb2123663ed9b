-- What would change if ω went from 1.5 to 0.5?
SELECT app, version_name, flip, count(*) AS run_count
FROM marts.verdict_flips(1.5, 0.5)
WHERE series = '*'
GROUP BY app, version_name, flip
ORDER BY app, version_name, flip;
