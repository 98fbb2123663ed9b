"""From which value on a metric is anomalous, in its own unit: the detector asked the other way round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

import numpy as np

from perfreg_assets.catalogue import SeriesDefinition, smallest_amount
from perfreg_assets.detection import RunRule
from perfreg_assets.methods.detectors import Detector
from perfreg_assets.methods.multiple_testing import correct
from perfreg_assets.methods.omega_rule import threshold

_DOUBLINGS = 24  # from 1 % of the level to beyond anything a history says something about


def metric_limits(
    detector: Detector,
    history: Sequence[float],
    definition: SeriesDefinition,
    *,
    omega: float,
    series_count: int,
    run_rule: RunRule,
) -> tuple[float | None, float | None]:
    """(low, high): a value below `low` or above `high` is anomalous at ω; None on a side where none is.

    Args:
        history: (k,) values, unit of the metric.
        series_count: how many series and metrics of the run are judged.
        run_rule: of the detector, how it corrects for them.
    """
    known = np.asarray(history, dtype=np.float64)

    def excess(value: float) -> float:
        score = correct(detector.score_value(known, value, series=definition), series_count, run_rule)
        return score.distance - threshold(score, omega)

    size = float(np.abs(known).max()) or smallest_amount(definition.unit) or 1.0
    low = _crossing(excess, known, -1, size) if definition.worse in ("less", "either") else None
    high = _crossing(excess, known, +1, size) if definition.worse in ("more", "either") else None
    return low, high


def _crossing(excess: Callable[[float], float], known: np.ndarray, sign: int, size: float) -> float | None:
    """The value where `excess` becomes positive on the way from the history's median to one side.

    Args:
        size: what values are about as large as.
    """
    inside = float(np.median(known))
    if excess(inside) > 0:
        return None  # the history's own middle is anomalous: no value is a limit
    is_positive = bool((known > 0).all())  # such are judged by their logarithms
    step = 0.01 * size
    for doubling in range(_DOUBLINGS):
        width = 2.0**doubling
        outside = inside * 1.01 ** (sign * width) if is_positive else inside + sign * step * width
        if not 0 < abs(outside) < 1e100:
            return None
        if excess(outside) > 0:
            near = 1e-9 * abs(outside - inside)
            optimize = import_module("scipy.optimize")  # half a second, only for those who have metrics
            return float(optimize.brentq(excess, *sorted((inside, outside)), xtol=near, rtol=1e-9))
        inside = outside
    return None
