-- A row is the level of a series in a version, beside the band of what its runs were compared with.
-- Its runs may be of several configurations, which are pooled on both sides: config_count says so.
-- depends: trends_of
CREATE VIEW marts.trends AS
SELECT pooled.* EXCLUDE (device, config_hash, scenario)
FROM marts.trends_of(false) AS pooled;

COMMENT ON VIEW marts.trends IS 'A row is the level of a series in a version, beside the band of what its runs were compared with. All its runs are in it, of any scenario, those too that people left out of verdicts: it tells what was measured; marts.trends_by_scenario tells scenarios and configurations apart.';
