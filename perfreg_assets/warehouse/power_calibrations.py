"""How estimates of devices are brought to what their rails measured: a row per device and power profile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from perfreg_assets.warehouse import series
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


def store(writer: Writer, rows: Sequence[CalibrationRow]) -> None:
    """In place of those of the same devices and profiles."""
    replace(writer, _CALIBRATIONS, rows)


def find(reader: Reader, device_name: str | None, profile_id: str | None) -> CalibrationRow | None:
    """That of a device by a profile."""
    rows = load(reader, _CALIBRATIONS, "device_name = ? AND profile_id = ?", [device_name, profile_id])
    return rows[0] if rows else None


_ESTIMATED = """
SELECT profile_id, run_id, rails_partly_ns FROM core.energy_runs
WHERE device_name = ? AND profile_id IS NOT NULL AND NOT is_foreign_profile
ORDER BY profile_id, run_id
"""


def measured_series(reader: Reader, device_name: str) -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    """(profile, run, estimated mW (n,), measured mW (n,)) of a device's runs with rails. An interval that the rails
    cover in part is not measured here, as in marts.energy_accuracy: its estimate is of the whole of it."""
    runs = reader.rows(_ESTIMATED, [device_name])
    found = series.find(reader, [run_id for _, run_id, _ in runs], ("power_cpu_total", "power_rail_cpu"))
    for profile_id, run_id, partly_ns in runs:
        estimated, measured = found.get((run_id, "power_cpu_total")), found.get((run_id, "power_rail_cpu"))
        if estimated is None or measured is None or estimated.values is None or measured.values is None:
            continue
        if (estimated.start_ns, estimated.interval_s) == (measured.start_ns, measured.interval_s):
            yield profile_id, run_id, estimated.values, _wholly(measured, partly_ns or ())


def _wholly(measured: series.SeriesRow, partly_ns: Sequence[int]) -> np.ndarray:
    """Its values (n,), NaN in the intervals that begin at those moments."""
    assert measured.values is not None
    assert measured.start_ns is not None
    begin_ns = measured.start_ns + np.arange(len(measured.values)) * round(measured.interval_s * 1e9)
    return np.where(np.isin(begin_ns, partly_ns), np.nan, measured.values)
