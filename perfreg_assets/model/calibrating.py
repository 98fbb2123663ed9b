"""Scale and floor of a device from its runs with rails."""

from __future__ import annotations

import math

import numpy as np

from perfreg_assets.methods.power_calibration import accuracy, calibrate, compared
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import power_calibrations
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.power_calibrations import CalibrationRow


def calibrations(reader: Reader, device_name: str) -> list[CalibrationRow]:
    """A row per power profile that the device's runs were estimated by.

    Every run is cut in the middle: what the first halves give is judged on the second ones and the other way round, and
    that accuracy is stored with the fit over all intervals.

    Raises:
        Rejected: RAILS_MISSING.
    """
    runs: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for profile_id, _, estimated, measured in power_calibrations.measured_series(reader, device_name):
        runs.setdefault(profile_id, []).append((estimated, measured))
    found = []
    for profile_id, pairs in runs.items():
        first = _joined([(one[: len(one) // 2], other[: len(one) // 2]) for one, other in pairs])
        second = _joined([(one[len(one) // 2 :], other[len(one) // 2 :]) for one, other in pairs])
        whole = np.concatenate([first, second], axis=1)
        try:
            fitted = calibrate(*whole)
            judged = np.concatenate([calibrate(*first).apply(second[0]), calibrate(*second).apply(first[0])])
            told = accuracy(judged, np.concatenate([second[1], first[1]]))
        except ValueError as error:
            raise Rejected(Reason.RAILS_MISSING, f"{device_name}: {error}") from error
        found.append(
            CalibrationRow(
                device_name=device_name,
                profile_id=profile_id,
                scale_ratio=fitted.scale_ratio,
                floor_mw=fitted.floor_mw,
                run_count=len(pairs),
                interval_count=whole.shape[1],
                energy_ratio=told.energy_ratio,
                correlation=None if math.isnan(told.correlation) else told.correlation,
                mape_ratio=told.mape_ratio,
            )
        )
    if not found:
        raise Rejected(Reason.RAILS_MISSING, f"device {device_name}")
    return found


def _joined(pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """(2, n): estimated and measured of all runs, where both are known."""
    return np.concatenate([np.stack(compared(*pair)) for pair in pairs], axis=1)
