"""Is a run's distance too large? The thesis' rule, its memory re-check, and which way the run differs.

All is told by q1, q3 and the distance, so any ω can be answered later without the series.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from perfreg_assets.methods.inputs import Floats, as_univariate

PERCENTILES = (0, 25, 50, 75, 100)
# Less than a thousandth of the level is no difference in memory: normal runs scatter by 1 to 1.5 %.
SMALLEST_SCALE_RATIO = 1e-3


@dataclass(frozen=True)
class IqrRule:
    """Tukey's rule on the history's distances D(H) (thesis 4.2.2): anomalous iff distance > q3 + ω (q3 - q1).

    Attributes:
        distance: of the judged run to the barycenter, unit of the series.
        q1, q3: quartiles of the history's own distances, same unit.
    """

    distance: float
    q1: float
    q3: float

    def threshold(self, omega: float) -> float:
        return self.q3 + omega * (self.q3 - self.q1)

    def is_anomalous(self, omega: float) -> bool:
        return self.distance > self.threshold(omega)

    def excess_ratio(self, omega: float) -> float | None:
        """Distance over threshold: above 1 is anomalous; None where the threshold is 0 or less."""
        threshold = self.threshold(omega)
        return self.distance / threshold if threshold > 0 else None


def iqr_rule(history_distances: ArrayLike, distance: float) -> IqrRule:
    """The rule for one series. Quartiles interpolate linearly: numpy's 'linear' = DuckDB's quantile_cont.

    Args:
        history_distances: (k,) distances of the history's runs to their barycenter.

    Raises:
        ValueError: no distances, or one is not finite.
    """
    values = as_univariate(history_distances, "the history's distances")
    judged = float(as_univariate([distance], "the distance")[0])
    q1, q3 = np.quantile(values, [0.25, 0.75], method="linear")
    return IqrRule(judged, float(q1), float(q3))


def dbscan_is_outlier(
    target: ArrayLike, history: Sequence[ArrayLike], *, eps: float = 2.0, min_samples: int = 3
) -> bool:
    """The thesis' re-check of memory (4.2.2): is the target in no cluster of DBSCAN (Ester et al. 1996)?

    A run is the point of its percentiles 0, 25, 50, 75, 100. Points are scaled by the history's standard deviation
    per percentile, so that eps is in standard deviations; the target is left out of the scale, or an extreme one would
    shrink its own distance. The mean cancels. Where the history hardly varies, a thousandth of its level is the scale.

    The thesis does not give eps and min_samples. On simulated leaks (two levels of noise, history of 12, 30 draws) eps
    2 and min_samples 3 flag 80 % / 57 % of the leaks and 16 % / 9 % of the normal runs; eps 1 flags 67 % / 35 % of the
    normal runs, eps 3 misses 31 % / 58 % of the leaks; 2 or 4 min_samples change F1 by less than .01.

    Args:
        target: (n,) series of the judged run.
        history: series of the history's runs, any lengths.
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
    judged = _percentiles(target, "the target")
    points = np.vstack([judged, known]) / _scale(known)
    is_near = np.linalg.norm(points[:, None] - points[None], axis=2) <= eps
    is_core = is_near.sum(axis=1) >= min_samples
    return not bool((is_near[0] & is_core).any())  # core itself, or at the border of a cluster


def direction(target: ArrayLike, history: Sequence[ArrayLike]) -> Literal["more", "less"]:
    """Whether the target's mean lies above the median of the history's means: more load, or less.

    Means, not medians: extra work shows as short bursts, which a median does not see.

    Raises:
        ValueError: no history, or a series is empty or not finite.
    """
    if not history:
        raise ValueError("the history is empty; a direction needs at least one run")
    means = [as_univariate(series, f"history series {index}").mean() for index, series in enumerate(history)]
    return "more" if as_univariate(target, "the target").mean() >= np.median(means) else "less"


def _percentiles(series: ArrayLike, name: str) -> Floats:
    return np.percentile(as_univariate(series, name), PERCENTILES)


def _scale(known: Floats) -> Floats:
    scale = np.maximum(known.std(axis=0), SMALLEST_SCALE_RATIO * np.abs(known).max())
    return np.where(scale > 0, scale, 1.0)  # a history of zeros: any other value is far away
