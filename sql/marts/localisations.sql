-- A row is a series that is anomalous by its current verdict, and what is known of where: windows, none, or not computed.
-- depends: verdicts
CREATE VIEW marts.localisations AS
SELECT
    verdicts.run_id,
    verdicts.run_no,
    verdicts.app,
    verdicts.version_name,
    verdicts.started_at,
    verdicts.series,
    found.localisation,
    CASE
        WHEN found.run_id IS NULL OR found.failure IS NOT NULL THEN 'not_computed'
        WHEN windows.window_count > 0 THEN 'windows'
        ELSE 'none'
    END AS localisation_state,
    CASE WHEN found.run_id IS NOT NULL AND found.failure IS NULL THEN coalesce(windows.window_count, 0) END AS window_count,
    samples.sample_count * samples.interval_s AS duration_s,
    found.examined_start_s,
    found.examined_end_s,
    CASE WHEN found.failure IS NOT NULL THEN 'localisation_failed' END AS reason_code,
    CASE WHEN found.run_id IS NULL THEN 'It was not looked for yet.' ELSE found.failure END AS reason
FROM marts.verdicts AS verdicts
JOIN core.time_series AS samples ON samples.run_no = verdicts.run_no AND samples.series = verdicts.series
LEFT JOIN core.profiles AS found ON found.run_no = verdicts.run_no AND found.series = verdicts.series
LEFT JOIN (
    SELECT discords.run_id, discords.run_no, discords.series, count(*) AS window_count FROM core.discords AS discords GROUP BY ALL
) AS windows ON windows.run_no = verdicts.run_no AND windows.series = verdicts.series
WHERE verdicts.is_current AND verdicts.is_anomalous;

COMMENT ON VIEW marts.localisations IS 'A row is a series that is anomalous by its current verdict, and what is known of where it differs: windows (see marts.discords), none although all of the examined stretch was looked at, or not computed and why. What lies before and behind the examined stretch was not looked at.';
