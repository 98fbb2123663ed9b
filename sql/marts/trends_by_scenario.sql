-- A row is the level of a series in a version's runs of one scenario and configuration, beside the band of what these were compared with.
-- depends: trends_of
CREATE VIEW marts.trends_by_scenario AS
SELECT apart.* EXCLUDE (config_count)
FROM marts.trends_of(true) AS apart;

COMMENT ON VIEW marts.trends_by_scenario IS 'A row is the level of a series in a version''s runs of one scenario and configuration, beside the band of what these were compared with. Runs that people left out of verdicts are not in it; marts.trends pools all.';
