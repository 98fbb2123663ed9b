"""How estimates of devices are brought to what their rails measured: a row per device and power profile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import Table, load, now_utc, replace


@dataclass(frozen=True, kw_only=True)
class CalibrationRow:
    """A row of core.power_calibrations; the accuracy is that of one half judged by the other."""

    device_name: str
    profile_id: str
    scale_ratio: float
    floor_mw: float
    run_count: int
    interval_count: int
    energy_ratio: float
    correlation: float | None
    mape_ratio: float
    calibrated_at: datetime = field(default_factory=now_utc)


_CALIBRATIONS = Table(
    "core.power_calibrations", CalibrationRow, ("device_name", "profile_id"), ("device_name", "profile_id")
)


def store(writer: Writer, rows: list[CalibrationRow]) -> None:
    """In place of those of the same devices and profiles."""
    replace(writer, _CALIBRATIONS, rows)


def find(reader: Reader, device_name: str | None, profile_id: str | None) -> CalibrationRow | None:
    """That of a device by a profile."""
    rows = load(reader, _CALIBRATIONS, "device_name = ? AND profile_id = ?", [device_name, profile_id])
    return rows[0] if rows else None


_MEASURED = """
SELECT costs.profile_id, costs.run_id, estimated."values", measured."values"
FROM core.energy_runs AS costs
JOIN marts.series_arrays AS estimated ON estimated.run_id = costs.run_id AND estimated.series = 'power_cpu_total'
JOIN marts.series_arrays AS measured ON measured.run_id = costs.run_id AND measured.series = 'power_rail_cpu'
WHERE costs.device_name = ? AND costs.profile_id IS NOT NULL AND NOT costs.is_foreign_profile
    AND NOT estimated.is_missing AND NOT measured.is_missing
    AND estimated.start_ns = measured.start_ns AND estimated.interval_s = measured.interval_s
ORDER BY costs.profile_id, costs.run_id
"""


def measured_series(reader: Reader, device_name: str) -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    """(profile, run, estimated mW (n,), measured mW (n,)) of a device's runs with rails."""
    for profile_id, run_id, estimated, measured in reader.rows(_MEASURED, [device_name]):
        yield profile_id, run_id, np.array(estimated, np.float64), np.array(measured, np.float64)
