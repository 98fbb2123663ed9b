"""Detector `default`: how unusual is the run among its history, on a calibrated scale.

1. A run is told by a few numbers (components): the distance to its nearest history runs and, for memory, how far it
   ranges. For a history run they are computed without itself (leave-one-out), so they compare with the target's.
2. Components are standardised by the history, weighted and added up.
3. Which direction is a regression, the catalogue says. Where it is *more*: if the run's level lies clearly below the
   history's, that is taken off; the mirrored sum, for *less*, is the improvement. Where it is *less*, the other way
   round; where it is either, nothing is taken off and nothing is an improvement.
4. The sum is judged beside the history's own sums by a prediction interval (Student's t) and given as a
   standard-normal score, see `calibration`.

What each part brings is measured in docs/quality.md.
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
from perfreg_assets.methods.explanation import Explainer
from perfreg_assets.methods.features import (
    RESOLUTION,
    Scale,
    centred,
    levels_and_changes,
    log_memory,
    quantile_range,
    scale_of,
    startup_samples,
)
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.knn import distances_to, distances_within, nearest_mean
from perfreg_assets.methods.samples import Sample, Score, checked_values
from perfreg_assets.methods.scalar_values import predictive

SMALLEST_HISTORY = 2
SMALLEST_SUM_SD = 0.1
MEMORY_RESOLUTION = 1e-3  # a thousandth is no difference
TOLERATED_DROP = 0.5  # sd of the history's levels; normal runs of less load keep their score
LARGEST_DROP = 8.0
UNUSUALLY_GOOD = -1.645  # score of a run's level that one normal run in 20 is better than


@dataclass(frozen=True)
class _Component:
    """One number per run: `known` (k,) of the history, `judged` (t,) of the targets.

    `sign` +1: larger is more load; 0: larger is more unusual in either direction.
    """

    known: Floats
    judged: Floats
    weight: float
    sign: int


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
        order = _canonical_order(known)
        ordered = [known[index] for index in order]
        if series.kind == "memory":
            measured, measured_level = _memory(ordered, judged, interval_s)
        else:
            measured, measured_level = _course(scale_of(series.kind, ordered), ordered, judged)
        kept = inlier_mask([part.known for part in measured], DISTURBED_LOG)
        components, level = [_beside(part, kept) for part in measured], _beside(measured_level, kept)
        sign = {"more": +1, "less": -1, "either": 0}[series.worse]
        drops = _drops(level)
        worse = _Side.of(components, drops, sign)
        better = _Side.of(components, drops, -sign) if sign else None
        own_scores = np.empty(len(known))
        own_scores[order] = history_scores(worse.known, worse.judged[len(judged) :], kept, SMALLEST_SUM_SD)
        distance = components[0]
        usual = [values for values, is_usual in zip(ordered, kept, strict=True) if is_usual]
        explainer = Explainer(series, usual, interval_s, set_aside=len(ordered) - len(usual))
        scores = []
        for index, values in enumerate(judged):
            is_higher, score, improvement = _told(worse, better, level, index, sign)
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
                    evidence=evidence,
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
    def of(cls, components: list[_Component], drops: tuple[Floats, Floats], sign: int) -> _Side:
        known, judged = _sums(components, sign)
        known_drop, judged_drop = drops
        return cls(known - np.maximum(sign * known_drop, 0), judged - np.maximum(sign * judged_drop, 0))

    def score(self, index: int) -> float:
        return predictive_score(self.known, float(self.judged[index]), SMALLEST_SUM_SD)


def _told(
    worse: _Side, better: _Side | None, level: _Component, index: int, sign: int
) -> tuple[bool, float, float | None]:
    """Of one target: whether it is the higher one, its score, and that of its improvement."""
    height = predictive_score(level.known, float(level.judged[index]), SMALLEST_LOG_SD)
    score = worse.score(index)
    if better is None:
        return height >= 0, score, None
    # An improvement has to show in the level itself, not only in an unusual pattern; and where the level is unusually
    # good, an unusual pattern is no regression.
    improvement = min(better.score(index), -sign * height)
    if sign * height < UNUSUALLY_GOOD:
        score = min(score, sign * height)
    return (score >= improvement) == (sign > 0), score, improvement


def _beside(part: _Component, kept: NDArray[np.bool_]) -> _Component:
    """Only the kept runs as the known ones; the others follow the targets, to be judged as well."""
    return replace(part, known=part.known[kept], judged=np.concatenate([part.judged, part.known[~kept]]))


def _canonical_order(known: list[Floats]) -> list[int]:
    """Indices in an order of content: listing the history in another order changes no bit of the result."""
    return sorted(range(len(known)), key=lambda index: known[index].tobytes())


def _course(scale: Scale, known: list[Floats], judged: list[Floats]) -> tuple[list[_Component], _Component]:
    both = [levels_and_changes(scale, values) for values in known]
    both_judged = [levels_and_changes(scale, values) for values in judged]
    levels = [np.ascontiguousarray(values[:, 0]) for values in both]
    levels_judged = [np.ascontiguousarray(values[:, 0]) for values in both_judged]
    components = [
        _distance_component(both, both_judged, RESOLUTION, weight=1.0),
        _distance_component(levels, levels_judged, RESOLUTION, weight=0.5),
    ]
    return components, _Component(scale.heights(known), scale.heights(judged), 1.0, +1)


def _memory(known: list[Floats], judged: list[Floats], interval_s: float) -> tuple[list[_Component], _Component]:
    logs = [log_memory(values)[startup_samples(len(values), interval_s) :] for values in known]
    logs_judged = [log_memory(values)[startup_samples(len(values), interval_s) :] for values in judged]
    ranges, ranges_judged = (
        np.log(np.array([quantile_range(values) for values in some]) + MEMORY_RESOLUTION)
        for some in (logs, logs_judged)
    )
    growth = _distance_component(
        [centred(values) for values in logs], [centred(values) for values in logs_judged], MEMORY_RESOLUTION, weight=1.0
    )
    level = _distance_component(logs, logs_judged, MEMORY_RESOLUTION, weight=0.5)
    high, high_judged = (np.array([np.quantile(values, 0.95) for values in some]) for some in (logs, logs_judged))
    range_component = _Component(ranges, ranges_judged, 1.0, +1)
    return [growth, level, range_component], _Component(high, high_judged, 1.0, +1)


def _distance_component(known: list[Floats], judged: list[Floats], resolution: float, *, weight: float) -> _Component:
    own = nearest_mean(distances_within(known))
    others = np.array([nearest_mean(distances_to(known, values)) for values in judged])
    return _Component(np.log(own + resolution), np.log(others + resolution), weight, 0)


def _sums(components: list[_Component], sign: int) -> tuple[Floats, Floats]:
    """Weighted sums of the standardised components of the history and the targets; see `_Side`."""
    known: Floats = np.zeros(len(components[0].known))
    judged: Floats = np.zeros(len(components[0].judged))
    for part in components:
        weight = part.weight * (sign if part.sign else 1)
        mean, spread = part.known.mean(), max(float(np.std(part.known, ddof=1)), SMALLEST_LOG_SD)
        known = known + weight * (part.known - mean) / spread
        judged = judged + weight * (part.judged - mean) / spread
    return known, judged


def _drops(level: _Component) -> tuple[Floats, Floats]:
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
