-- At which seconds should I open the trace, and what was on the screen?
SELECT run_id, series, start_s, end_s, confidence, screens, start_ns AS vis_start, end_ns AS vis_end
FROM marts.discords
ORDER BY confidence DESC, run_id, start_s
LIMIT 20;
