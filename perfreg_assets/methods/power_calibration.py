"""Estimated power beside what rails measured: how near it is, and scale and floor that bring it nearer.

Power profiles state no leakage, so estimates are 22 to 42 % low (measured on three devices). Of a device with rails,
measured = floor + scale · estimated is fitted, both not negative. A floor is a device's own: another's makes estimates
worse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfreg_assets.methods.inputs import Floats

LEAST_INTERVALS = 10
"""Fewer intervals tell no floor from a scale."""
LEAST_SPREAD = 1e-6
"""Of the mean: what spreads no more does not vary. A rail that was sampled twice is a straight line, whose power per
interval differs by rounding alone (up to 1e-7 of it where its counter is high). marts.energy_accuracy has the same."""


@dataclass(frozen=True)
class Accuracy:
    """Attributes:
    energy_ratio: estimated over measured energy.
    correlation: Pearson's, NaN where one of the two does not vary.
    mape_ratio: mean absolute difference over the measurement, of intervals with one above 0; NaN where the measurement
        does not vary: it tells no interval from another.
    """

    energy_ratio: float
    correlation: float
    mape_ratio: float


@dataclass(frozen=True)
class Calibration:
    """measured ≈ `floor_mw` + `scale_ratio` · estimated."""

    scale_ratio: float
    floor_mw: float

    def apply(self, estimated: Floats) -> Floats:
        """Calibrated power (n,) in mW."""
        found: Floats = self.floor_mw + self.scale_ratio * estimated
        return found


def compared(estimated: Floats, measured: Floats) -> tuple[Floats, Floats]:
    """Both series (n,) at the intervals (m,) of which both are known."""
    known = np.isfinite(estimated) & np.isfinite(measured)
    return estimated[known], measured[known]


def accuracy(estimated: Floats, measured: Floats) -> Accuracy:
    """How near estimates (n,) are to measurements (n,), both known everywhere.

    Raises:
        ValueError: nothing was measured, or nothing but 0.
    """
    if not measured.size or not measured.sum() > 0:
        raise ValueError("nothing was measured")
    is_told = _varies(measured)
    positive = measured > 0
    return Accuracy(
        energy_ratio=float(estimated.sum() / measured.sum()),
        correlation=float(np.corrcoef(estimated, measured)[0, 1]) if is_told and _varies(estimated) else float("nan"),
        mape_ratio=float(np.mean(np.abs(estimated - measured)[positive] / measured[positive]))
        if is_told
        else float("nan"),
    )


def _varies(values: Floats) -> bool:
    return bool(np.ptp(values) > LEAST_SPREAD * abs(values.mean()))


def calibrate(estimated: Floats, measured: Floats) -> Calibration:
    """Least squares with scale and floor not negative, over intervals (n,) of any number of runs.

    Raises:
        ValueError: fewer than 10 intervals, or estimates or measurements that do not vary.
    """
    if estimated.size < LEAST_INTERVALS:
        raise ValueError(f"{estimated.size} intervals with estimate and measurement, {LEAST_INTERVALS} are needed")
    spread = estimated - estimated.mean()
    for values, name in ((estimated, "estimates"), (measured, "measurements")):
        if not _varies(values):
            raise ValueError(f"the {name} do not vary, which tells no floor from a scale")
    scale = float(spread @ measured / (spread @ spread))
    floor = float(measured.mean() - scale * estimated.mean())
    # With two unknowns the constrained optimum is on the border that the free one crosses.
    if scale < 0:
        return Calibration(0.0, float(max(measured.mean(), 0.0)))
    if floor < 0:
        return Calibration(max(float(estimated @ measured / (estimated @ estimated)), 0.0), 0.0)
    return Calibration(scale, floor)
