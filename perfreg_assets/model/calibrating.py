"""Scale and floor of a device from its runs with rails."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from perfreg_assets.methods.power_calibration import LEAST_INTERVALS, accuracy, calibrate, compared
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import power_calibrations
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.power_calibrations import CalibrationRow


@dataclass(frozen=True)
class NotFitted:
    """A power profile whose runs do not tell scale and floor, and why."""

    profile_id: str
    reason: str


@dataclass(frozen=True)
class Calibrations:
    """A row per power profile that the device's runs were estimated by; `not_fitted` those that have none."""

    rows: tuple[CalibrationRow, ...]
    not_fitted: tuple[NotFitted, ...]


def calibrations(reader: Reader, device_name: str) -> Calibrations:
    """What the device's runs tell, by each power profile for itself.

    Every run is cut in the middle: what the first halves give is judged on the second ones and the other way round, and
    that accuracy is stored with the fit over all intervals.

    Raises:
        Rejected: RAILS_MISSING, if there is not one profile with a row.
    """
    runs: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for profile_id, _, estimated, measured in power_calibrations.measured_series(reader, device_name):
        runs.setdefault(profile_id, []).append((estimated, measured))
    found: list[CalibrationRow] = []
    not_fitted: list[NotFitted] = []
    for profile_id, pairs in runs.items():
        fitted = _fitted(device_name, profile_id, pairs)
        if isinstance(fitted, NotFitted):
            not_fitted.append(fitted)
        else:
            found.append(fitted)
    if not found:
        why = "".join(f"; by profile {one.profile_id[:12]} {one.reason}" for one in not_fitted)
        raise Rejected(Reason.RAILS_MISSING, f"device {device_name}{why}")
    return Calibrations(tuple(found), tuple(not_fitted))


def _fitted(
    device_name: str, profile_id: str, pairs: list[tuple[np.ndarray, np.ndarray]]
) -> CalibrationRow | NotFitted:
    first = _joined([(one[: len(one) // 2], other[: len(one) // 2]) for one, other in pairs])
    second = _joined([(one[len(one) // 2 :], other[len(one) // 2 :]) for one, other in pairs])
    whole = np.concatenate([first, second], axis=1)
    halves = sorted((first.shape[1], second.shape[1]))
    if halves[0] < LEAST_INTERVALS:
        # Each half is fitted by itself, so it is the smaller one that decides.
        return NotFitted(
            profile_id,
            f"{whole.shape[1]} intervals with estimate and measurement, {halves[0]} of them in one half of the runs; "
            f"{LEAST_INTERVALS} in each half are needed",
        )
    try:
        fitted = calibrate(*whole)
        judged = np.concatenate([calibrate(*first).apply(second[0]), calibrate(*second).apply(first[0])])
        told = accuracy(judged, np.concatenate([second[1], first[1]]))
    except ValueError as error:
        return NotFitted(profile_id, str(error))
    return CalibrationRow(
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


def _joined(pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """(2, n): estimated and measured of all runs, where both are known."""
    return np.concatenate([np.stack(compared(*pair)) for pair in pairs], axis=1)
