-- A row is how long the cores of a cluster were at a frequency in a run, for whom.
CREATE VIEW marts.time_in_state AS
SELECT
    times.run_id,
    times.run_no,
    runs.app,
    runs.version_name,
    times.cluster,
    times.frequency_khz,
    times.scope,
    times.busy_s,
    times.cluster_share_s,
    times.active_share_s
FROM core.time_in_state AS times
JOIN core.runs AS runs ON runs.run_no = times.run_no;

COMMENT ON VIEW marts.time_in_state IS 'A row is how long the cores of a cluster were at a frequency in a run, for whom; any power profile can be put on it, see marts.energies_at.';
