-- A row is a frequency of a cluster in a power profile, and what it draws.
CREATE VIEW marts.power_levels AS
SELECT levels.profile_id, levels.cluster, levels.frequency_khz, levels.charge_ma, levels.cluster_charge_ma
FROM core.power_levels AS levels;

COMMENT ON VIEW marts.power_levels IS 'A row is a frequency of a cluster in a power profile, and what it draws.';
