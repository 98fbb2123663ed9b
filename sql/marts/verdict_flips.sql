-- What changes between two ω: the verdicts whose state differs, by the latest measurements. SELECT * FROM marts.verdict_flips(1.5, 0.5). At NULL on a side: the verdicts that were given, each at its ω. Of the detector in force, or detector := 'iqr', 'all'.
-- depends: verdicts_at
CREATE MACRO marts.verdict_flips(omega_a, omega_b, detector := NULL) AS TABLE
SELECT
    earlier.run_id,
    earlier.run_no,
    earlier.app,
    earlier.version_name,
    earlier.started_at,
    earlier.series,
    earlier.detector,
    earlier.omega AS omega_a,
    later.omega AS omega_b,
    earlier.state AS state_a,
    later.state AS state_b,
    CASE
        WHEN later.state = 'anomalous' THEN 'becomes_anomalous'
        WHEN earlier.state = 'anomalous' THEN 'no_longer_anomalous'
        ELSE 'other'
    END AS flip,
    earlier.distance,
    earlier.threshold AS threshold_a,
    later.threshold AS threshold_b,
    earlier.critical_omega
FROM marts.verdicts_at(omega_a, detector) AS earlier
JOIN marts.verdicts_at(omega_b, detector) AS later ON later.distance_no = earlier.distance_no AND later.run_no = earlier.run_no
WHERE earlier.is_latest AND earlier.state <> later.state;

COMMENT ON MACRO TABLE marts.verdict_flips IS 'What changes between two ω: the verdicts whose state differs, by the latest measurements. SELECT * FROM marts.verdict_flips(1.5, 0.5). At NULL on a side: the verdicts that were given, each at its ω. Of the detector in force, or of another, or of all: detector := ''iqr'', detector := ''all''.';
