"""The second check of a memory alarm [thesis 4.2.2]: is the run an outlier among its history?

A run is the point of its percentiles 0, 25, 50, 75, 100. Points are scaled by the history's standard deviation per
percentile; the target is left out of the scale, or an extreme one would shrink its own distance. The mean cancels.
Where the history hardly varies, a thousandth of its level is the scale.

The thesis uses DBSCAN (Ester et al. 1996), whose noise is what no core point reaches; the local outlier factor
(Breunig et al. 2000) is the other way, for histories whose runs lie in groups of differing density.
"""

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
    """Whether the target is in no cluster of DBSCAN.

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
    point, known = _points(target, history)
    points = np.vstack([point, known]) / _scale(known)
    # scikit-learn's DBSCAN labels all points and loads for .7 s, which each process that judges memory would pay;
    # whether one of them is noise is the definition itself: no core within eps.
    are_near = np.linalg.norm(points[:, None] - points[None], axis=2) <= eps
    is_core = are_near.sum(axis=1) >= min_samples
    return not (are_near[0] & is_core).any()


def lof_is_outlier(
    target: ArrayLike, history: Sequence[ArrayLike], *, neighbors: int = 3, threshold: float = 1.5
) -> bool:
    """Whether the target's local outlier factor among the history's runs is above the threshold.

    The factor is 1 where the target lies as densely as its neighbours do. A target that differs from a run by less
    than a thousandth of the level is none: among runs that hardly differ the factor grows without bound.

    Chosen on simulated leaks with the weaker noise (history of 12, 30 draws), where 3 neighbours and 1.5 flag 76 % of
    the leaks and 10 % of the normal runs; with the stronger noise 65 % and 18 %. 11 neighbours flag 49 % / 25 % of
    the leaks and no normal run.

    Args:
        target: (n,) series of the judged run.
        history: series of the history's runs, k of (n_i,), same unit.
        neighbors: of the target; at most one less than the history has runs.
        threshold: largest factor of a run that is none.

    Raises:
        ValueError: fewer than two runs in the history, a series is empty or not finite, or a parameter out of range.
    """
    if neighbors < 1:
        raise ValueError(f"neighbors = {neighbors}: must be at least 1")
    if not threshold >= 1:
        raise ValueError(f"threshold = {threshold}: must be 1 or more, a factor of 1 is no outlier")
    if len(history) == 1:
        raise ValueError("a history of one run has no density; the re-check by LOF needs two")
    point, known = _points(target, history)
    if np.abs(known - point).max(axis=1).min() <= _smallest(known):
        return False
    model = import_module("sklearn.neighbors").LocalOutlierFactor(
        n_neighbors=min(neighbors, len(known) - 1), novelty=True, algorithm="kd_tree"
    )
    scale = _scale(known)
    return bool(-model.fit(known / scale).score_samples((point / scale)[None])[0] > threshold)


def _points(target: ArrayLike, history: Sequence[ArrayLike]) -> tuple[Floats, Floats]:
    """The percentiles of the target (5,) and of the history (k, 5), in their unit."""
    if not history:
        raise ValueError("the history is empty; the re-check needs at least one run")
    known = np.array([_percentiles(series, f"history series {index}") for index, series in enumerate(history)])
    return _percentiles(target, "the target"), known


def _percentiles(series: ArrayLike, name: str) -> Floats:
    return np.percentile(as_univariate(series, name), PERCENTILES)


def _scale(known: Floats) -> Floats:
    scale = np.maximum(known.std(axis=0), _smallest(known))
    return np.where(scale > 0, scale, 1.0)  # a history of zeros: any other value is far away


def _smallest(known: Floats) -> float:
    """Less than that is no difference, in the unit of the series."""
    return float(SMALLEST_SCALE_RATIO * np.abs(known).max())
