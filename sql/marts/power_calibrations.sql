-- A row is how the estimates of a device by a power profile are brought to what its rails measured.
CREATE VIEW marts.power_calibrations AS
SELECT
    calibrations.device_name,
    calibrations.profile_id,
    calibrations.scale_ratio,
    calibrations.floor_mw,
    calibrations.run_count,
    calibrations.interval_count,
    calibrations.energy_ratio,
    calibrations.correlation,
    calibrations.mape_ratio,
    calibrations.calibrated_at
FROM core.power_calibrations AS calibrations;

COMMENT ON VIEW marts.power_calibrations IS 'A row is how the estimates of a device by a power profile are brought to what its rails measured: floor_mw + scale_ratio times the estimate. The accuracy is that of half the intervals by what the other half gave, both ways.';
