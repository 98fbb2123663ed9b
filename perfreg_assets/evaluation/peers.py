"""What others do, a few lines each: baselines that have to be beaten (`perfreg evaluate … --detector peers`).

Each judges one series of one run beside those of its history, k of (n_i,), oldest first. Those that have a level are
given as standard-normal scores and corrected for the number of series as ours are; those with a fixed limit alarm where
any series is above it, at every level. All are one-sided: more is worse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from perfreg_assets.catalogue import SeriesDefinition
from perfreg_assets.detection import RunRule
from perfreg_assets.methods.calibration import QUARTILE, predictive_score
from perfreg_assets.methods.dtw import dtw_distances, dtw_pairwise
from perfreg_assets.methods.features import quantile_range
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.samples import Sample, Score, checked_values

Judge = Callable[[list[Floats], list[Floats]], list[float]]
"""History and targets → a number per target, the larger the worse."""

SMALLEST_SD = 1e-9
TENTH = 1.1
PERFHERDER_T = 7.0
COHEN_D = 2.0
LOF_LIMIT = 1.5
LOF_NEIGHBOURS = 5


@dataclass(frozen=True)
class Peer:
    """Attributes:
    source: who judges so, and where it is written.
    limit: the number that a target's has to exceed; None: numbers are standard-normal scores.
    """

    name: str
    source: str
    judge: Judge
    limit: float | None = None

    @property
    def run_rule(self) -> RunRule:
        return "any" if self.limit is not None else "sidak"

    def score_all(
        self, history: Sequence[Sample], targets: Sequence[Sample], *, series: SeriesDefinition, interval_s: float
    ) -> list[Score]:
        """As `Detector.score_all`, without evidence.

        Raises:
            ValueError: there are fewer than 2 history runs, or a series is too short or not finite.
        """
        numbers = self.judge(checked_values(history, 2), checked_values(targets, 1))
        low, high = (-QUARTILE, QUARTILE) if self.limit is None else (self.limit, self.limit)
        return [Score(number, low, high, None, None, None, "more", np.array([])) for number in numbers]


def _means(history: list[Floats], targets: list[Floats]) -> tuple[Floats, Floats]:
    return np.array([one.mean() for one in history]), np.array([one.mean() for one in targets])


def _mean_ratio(history: list[Floats], targets: list[Floats]) -> list[float]:
    known, judged = _means(history, targets)
    return [float(one) for one in judged / max(float(known.mean()), SMALLEST_SD)]


def _perfherder(history: list[Floats], targets: list[Floats]) -> list[float]:
    """Later values weigh more; a single new value has no variance of its own."""
    known, judged = _means(history, targets)
    weights = np.arange(1, len(known) + 1) / len(known)
    average = float(np.average(known, weights=weights))
    variance = float(((known - average) ** 2).sum() / (len(known) - 1))
    return [float(one - average) / max(float(np.sqrt(variance / len(known))), SMALLEST_SD) for one in judged]


def _cohen(history: list[Floats], targets: list[Floats]) -> list[float]:
    """The step in standard deviations; of both sides' there is only the history's."""
    known, judged = _means(history, targets)
    return [float(one - known.mean()) / max(float(known.std(ddof=1)), SMALLEST_SD) for one in judged]


def _interval_of(feature: Callable[[Floats], float]) -> Judge:
    """Student's prediction interval of one more value of a number per run."""

    def judge(history: list[Floats], targets: list[Floats]) -> list[float]:
        known = np.array([feature(one) for one in history])
        return [predictive_score(known, feature(one), SMALLEST_SD) for one in targets]

    return judge


def _nearest(count: int) -> Judge:
    """The mean distance to the nearest runs, beside those that the history's runs have to each other."""

    def judge(history: list[Floats], targets: list[Floats]) -> list[float]:
        within = dtw_pairwise(history)
        np.fill_diagonal(within, np.inf)
        known = np.sort(within, axis=1)[:, : min(count, len(history) - 1)].mean(axis=1)
        found = []
        for target in targets:
            nearest = np.sort(dtw_distances(history, target))[:count]
            found.append(predictive_score(known, float(nearest.mean()), SMALLEST_SD))
        return found

    return judge


def _lof(history: list[Floats], targets: list[Floats]) -> list[float]:
    """Of mean, standard deviation, q95 - q25 and largest value, each in the history's standard deviations."""
    known, judged = (
        np.array([[one.mean(), one.std(), quantile_range(one), one.max()] for one in some])
        for some in (history, targets)
    )
    middle, spread = known.mean(axis=0), np.maximum(known.std(axis=0, ddof=1), SMALLEST_SD)
    model = import_module("sklearn.neighbors").LocalOutlierFactor(
        n_neighbors=min(LOF_NEIGHBOURS, len(known) - 1), novelty=True
    )
    return [float(-one) for one in model.fit((known - middle) / spread).score_samples((judged - middle) / spread)]


PEERS = {
    peer.name: peer
    for peer in (
        Peer("mean + 10 %", "the usual rule of CI scripts", _mean_ratio, TENTH),
        Peer(
            "Perfherder's t",
            "Mozilla treeherder, perfalert.calc_t with linear weights, t > 7",
            _perfherder,
            PERFHERDER_T,
        ),
        Peer("Skia's Cohen step", "Skia Perf, stepfit CohenStep; the limit is the user's, here 2", _cohen, COHEN_D),
        Peer("sd, t interval", "scatter of the samples", _interval_of(lambda one: float(one.std()))),
        Peer("q95 - q25, t interval", "range of the samples", _interval_of(quantile_range)),
        Peer("1-NN DTW", "as tslearn.metrics.dtw; Bagnall et al. 2017", _nearest(1)),
        Peer("5-NN DTW", "as tslearn.metrics.dtw", _nearest(5)),
        Peer("LOF", "scikit-learn LocalOutlierFactor, its limit of 1.5; Breunig et al. 2000", _lof, LOF_LIMIT),
    )
}
