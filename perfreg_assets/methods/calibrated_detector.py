"""Detector `default`: how unusual is the run among its history, on a calibrated scale.

1. A run is told by a few numbers (components): the distance to its nearest history runs and, for memory, how far it
   ranges. For a history run they are computed without itself (leave-one-out), so they compare with the target's.
2. Components are standardised by the history, weighted and added up.
   Memory that is far above that of every run of the history is judged by its level alone, a load that many runs have
   nothing of by how much there is of it in all (`rare_load`).
3. Which direction is a regression, the catalogue says. Where it is *more*: if the run's level lies clearly below the
   history's, that is taken off; the mirrored sum, for *less*, is the improvement. Where it is *less*, the other way
   round; where it is either, nothing is taken off and nothing is an improvement. A level that is far better than that
   of every run of the history is one by itself.
4. The sum is judged beside the history's own sums by a prediction interval (Student's t) and given as a
   standard-normal score, see `calibration`.
5. A run that looks unusual is judged once more without its one passing disturbance (`transients`). The score stays as
   it is; what it would be is evidence, which counts where earlier runs of the app had such ones (`empirical_null`).

What each part brings is measured in docs/choices.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.catalogue import SeriesDefinition
from perfreg_assets.methods.barycenter import Barycenter
from perfreg_assets.methods.calibration import (
    DISTURBED_LOG,
    QUARTILE,
    SMALLEST_LOG_SD,
    history_scores,
    inlier_mask,
    p_of_score,
    predictive_score,
)
from perfreg_assets.methods.detectors import Detector
from perfreg_assets.methods.empirical_null import TRANSIENT_END_S, TRANSIENT_START_S, UNLIKELY_SCORE, WITHOUT_TRANSIENT
from perfreg_assets.methods.explanation import Explainer
from perfreg_assets.methods.features import scale_of
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.rare_load import is_rare, scores_of_rare
from perfreg_assets.methods.run_measures import Component, CourseMeasures, Measures, MemoryMeasures
from perfreg_assets.methods.samples import Sample, Score, checked_values
from perfreg_assets.methods.scalar_values import predictive
from perfreg_assets.methods.transients import find_transient

SMALLEST_HISTORY = 2
SMALLEST_SUM_SD = 0.1
TOLERATED_DROP = 0.5  # sd of the history's levels; normal runs of less load keep their score
LARGEST_DROP = 8.0
MUCH_HIGHER = math.log(1.5)  # of memory: half as much again as the highest of the history
FAR_BETTER = 3.0  # score of a level that one normal run in 700 is better than
UNUSUALLY_GOOD = -1.645  # score of a run's level that one normal run in 20 is better than
LOOKED_AT = 1.2816  # score: of one normal run in ten it is asked what it would be without a passing disturbance


@dataclass(frozen=True)
class CalibratedDetector(Detector):
    """The default detector; see `Detector`."""

    name: str = "default"

    def score_all(
        self,
        history: Sequence[Sample],
        targets: Sequence[Sample],
        *,
        series: SeriesDefinition,
        interval_s: float,
        barycenter: Barycenter | None = None,
    ) -> list[Score]:
        """Several targets against one history: the history's own distances are computed once.

        Raises:
            ValueError: fewer than 2 history runs, a series is too short or not finite, or it has no time axis.
        """
        if series.kind == "scalar":
            raise ValueError(f"{series.name} is one value per run; score_value judges it")
        if not targets:
            return []
        known = checked_values(history, SMALLEST_HISTORY)
        judged = checked_values(targets, 1)
        if is_rare(series, known):
            return scores_of_rare(known, judged, series, interval_s)
        order = _canonical_order(known)
        ordered = [known[index] for index in order]
        measures: Measures
        if series.kind == "memory":
            measures = MemoryMeasures(ordered, interval_s)
        else:
            measures = CourseMeasures(ordered, scale_of(series.kind, ordered))
        sign = {"more": +1, "less": -1, "either": 0}[series.worse]
        beside = _Beside.of(measures, judged, sign)
        worse, kept, distance = beside.worse, beside.kept, beside.distance
        own_scores = np.empty(len(known))
        own_scores[order] = history_scores(worse.known, worse.judged[len(judged) :], kept, SMALLEST_SUM_SD)
        usual = [values for values, is_usual in zip(ordered, kept, strict=True) if is_usual]
        explainer = Explainer(series, usual, interval_s, set_aside=len(ordered) - len(usual))
        told = [beside.told(index) for index in range(len(judged))]
        passing = _without_transients(measures, judged, [score for _, score, _ in told], sign, interval_s)
        scores = []
        for index, values in enumerate(judged):
            is_higher, score, improvement = told[index]
            ratio = float(np.exp(distance.judged[index] - distance.known.mean()))
            side = is_higher if sign else None
            evidence, sentence = explainer.explain(values, ratio, is_higher=side)
            scores.append(
                Score(
                    distance=score,
                    q1=-QUARTILE,
                    q3=QUARTILE,
                    improvement=improvement,
                    is_recheck_passed=None,
                    p_value=p_of_score(score),
                    direction="more" if is_higher else "less",
                    history_distances=own_scores,
                    evidence=evidence | passing.get(index, {}),
                    sentence=sentence,
                )
            )
        return scores

    def score_value(self, history: Floats, value: float, *, series: SeriesDefinition) -> Score:
        """See `Detector.score_value`: the prediction interval of one more value than the history's (k,).

        Raises:
            ValueError: fewer than 2 values in the history, or one is not finite.
        """
        return predictive(history, value, series)


@dataclass(frozen=True)
class _Side:
    """The sums towards one side, of the history's kept runs and of the targets (the others follow them).

    `sign` +1: more load; -1: less; 0: either.
    """

    known: Floats
    judged: Floats

    @classmethod
    def of(cls, components: list[Component], drops: tuple[Floats, Floats], sign: int) -> _Side:
        known, judged = _sums(components, sign)
        known_drop, judged_drop = drops
        return cls(known - np.maximum(sign * known_drop, 0), judged - np.maximum(sign * judged_drop, 0))

    def score(self, index: int) -> float:
        return predictive_score(self.known, float(self.judged[index]), SMALLEST_SUM_SD)


@dataclass(frozen=True)
class _Beside:
    """Targets beside their history.

    Attributes:
        kept: mask (k,) of the history's runs that say what is usual.
        distance: the component that words are made of.
        highest: level that no run of the history is above, the disturbed ones included.
        best: level that none of them is better than, in the direction of `sign`.
        sign: of load that is worse; 0: either.
    """

    kept: NDArray[np.bool_]
    distance: Component
    level: Component
    highest: float
    best: float
    worse: _Side
    better: _Side | None
    sign: int

    @classmethod
    def of(cls, measures: Measures, judged: list[Floats], sign: int) -> _Beside:
        measured, measured_level = measures.of(judged)
        kept = inlier_mask([part.known for part in measured], DISTURBED_LOG)
        components, level = [_of_kept(part, kept) for part in measured], _of_kept(measured_level, kept)
        drops = _drops(level)
        worse = _Side.of(components, drops, sign)
        better = _Side.of(components, drops, -sign) if sign else None
        highest = float(measured_level.known.max()) if measures.tells_levels else math.inf
        best = sign * float((sign * measured_level.known).min())
        return cls(kept, components[0], level, highest, best, worse, better, sign)

    def told(self, index: int) -> tuple[bool, float, float | None]:
        """Of one target: whether it is the higher one, its score, and that of its improvement."""
        height = predictive_score(self.level.known, float(self.level.judged[index]), SMALLEST_LOG_SD)
        score = self.worse.score(index)
        if self.better is None:
            return height >= 0, score, None
        # An improvement has to show in the level itself, not only in an unusual pattern; and where the level is
        # unusually good, an unusual pattern is no regression.
        improvement = min(self.better.score(index), -self.sign * height)
        # Loads far below the usual are all alike on their scale, so how far a course is from the others hardly grows.
        if -self.sign * height > FAR_BETTER and self.sign * (self.level.judged[index] - self.best) < 0:
            improvement = -self.sign * height
        if self.sign * height < UNUSUALLY_GOOD:
            score = min(score, self.sign * height)
        # Sums are of how runs differ, and how a run grows and ranges is relative to its size: memory that is twice that
        # of every earlier run all along differs in one part of three only.
        if height > UNLIKELY_SCORE and self.level.judged[index] - self.highest > MUCH_HIGHER and self.sign > 0:
            score = max(score, height)
        return (score >= improvement) == (self.sign > 0), score, improvement


def _without_transients(
    measures: Measures, judged: list[Floats], scores: list[float], sign: int, interval_s: float
) -> dict[int, dict[str, float]]:
    """Index of a target → evidence, of those that look unusual: their score without a passing disturbance, and where
    that is."""
    found = {
        index: transient
        for index, (values, score) in enumerate(zip(judged, scores, strict=True))
        if score > LOOKED_AT
        for transient in [find_transient(values, measures.expected(values), interval_s, (sign,) if sign else (+1, -1))]
        if transient is not None
    }
    if not found:
        return {}
    beside = _Beside.of(measures, [one.without for one in found.values()], sign)
    return {
        index: {
            WITHOUT_TRANSIENT: min(beside.told(place)[1], scores[index]),
            TRANSIENT_START_S: one.first * interval_s,
            TRANSIENT_END_S: one.end * interval_s,
        }
        for place, (index, one) in enumerate(found.items())
    }


def _of_kept(part: Component, kept: NDArray[np.bool_]) -> Component:
    """Only the kept runs as the known ones; the others follow the targets, to be judged as well."""
    return replace(part, known=part.known[kept], judged=np.concatenate([part.judged, part.known[~kept]]))


def _canonical_order(known: list[Floats]) -> list[int]:
    """Indices in an order of content: listing the history in another order changes no bit of the result."""
    return sorted(range(len(known)), key=lambda index: known[index].tobytes())


def _sums(components: list[Component], sign: int) -> tuple[Floats, Floats]:
    """Weighted sums of the standardised components of the history and the targets; see `_Side`."""
    known: Floats = np.zeros(len(components[0].known))
    judged: Floats = np.zeros(len(components[0].judged))
    for part in components:
        weight = part.weight * (sign if part.sign else 1)
        mean, spread = part.known.mean(), max(float(np.std(part.known, ddof=1)), SMALLEST_LOG_SD)
        known = known + weight * (part.known - mean) / spread
        judged = judged + weight * (part.judged - mean) / spread
    return known, judged


def _drops(level: Component) -> tuple[Floats, Floats]:
    """How far levels lie below (positive) or above (negative) the history's, beyond what is tolerated, in its sd."""

    def beyond(scores: Floats) -> Floats:
        drop: Floats = np.sign(scores) * np.maximum(np.abs(scores) - TOLERATED_DROP, 0)
        return np.clip(drop, -LARGEST_DROP, LARGEST_DROP)

    known = level.known
    own = np.array([_standard(np.delete(known, index), float(value)) for index, value in enumerate(known)])
    return beyond(-own), beyond(-np.array([_standard(known, float(value)) for value in level.judged]))


def _standard(known: Floats, value: float) -> float:
    spread = float(np.std(known, ddof=1)) if len(known) > 1 else 0.0
    return (value - float(known.mean())) / (max(spread, SMALLEST_LOG_SD) * math.sqrt(1 + 1 / len(known)))
