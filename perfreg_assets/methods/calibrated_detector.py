"""Detector `default`: how unusual is the run among its history, on a calibrated scale.

1. A run is told by a few numbers (components): the distance to its nearest history runs and, for memory, how far it
   ranges. For a history run they are computed without itself (leave-one-out), so they compare with the target's.
2. Components are standardised by the history, weighted and added up.
3. Only *more* load is a regression: where the run's level lies clearly below the history's, that is taken off; the
   mirrored sum, for *less* load, is the improvement.
4. The sum is judged beside the history's own sums by a prediction interval (Student's t) and given as a
   standard-normal score, see `calibration`.

What each part brings is measured in README, How good is it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.barycenter import Barycenter
from perfreg_assets.methods.calibration import (
    QUARTILE,
    leave_one_out_scores,
    p_of_score,
    predictive_score,
    undisturbed,
)
from perfreg_assets.methods.explanation import Explainer
from perfreg_assets.methods.features import LoadScale, centred, log_memory, quantile_range, startup_samples
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.neighbours import distances_to, distances_within, nearest_mean
from perfreg_assets.methods.samples import Kind, Sample, Score, checked_values

SMALLEST_HISTORY = 2
SMALLEST_LOG_SD = 0.02  # of the logarithm of a distance or range: 2 % more is never unusual
SMALLEST_SUM_SD = 0.1
# Distances below these are no difference: a hundredth of the typical load, a thousandth of the memory.
LOAD_RESOLUTION = 0.01
MEMORY_RESOLUTION = 1e-3
TOLERATED_DROP = 0.5  # sd of the history's levels; normal runs of less load keep their score
LARGEST_DROP = 8.0
DISTURBED_LOG = float(np.log(2))  # twice the median; natural tails are far below
UNUSUALLY_LOW = -1.645  # score of a run's level that one normal run in 20 falls below


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
class CalibratedDetector:
    """The default detector; see `Detector`."""

    name: str = "default"

    def score(
        self,
        history: Sequence[Sample],
        target: Sample,
        *,
        kind: Kind,
        interval_s: float,
        barycenter: Barycenter | None = None,
    ) -> Score:
        """See `Detector.score`; the barycenter is not used."""
        return self.score_all(history, [target], kind=kind, interval_s=interval_s, barycenter=barycenter)[0]

    def score_all(
        self,
        history: Sequence[Sample],
        targets: Sequence[Sample],
        *,
        kind: Kind,
        interval_s: float,
        barycenter: Barycenter | None = None,
    ) -> list[Score]:
        """Several targets against one history: the history's own distances are computed once."""
        if not targets:
            return []
        known = checked_values(history, SMALLEST_HISTORY)
        judged = checked_values(targets, 1)
        order = _canonical_order(known)
        ordered = [known[index] for index in order]
        measured, measured_level = (_memory if kind == "memory" else _load)(ordered, judged, interval_s)
        kept = undisturbed([part.known for part in measured], DISTURBED_LOG)
        components, level = [_beside(part, kept) for part in measured], _beside(measured_level, kept)
        known_drop, judged_drop = _drops(level)
        more_known, more_judged = _sums(components, +1)
        less_known, less_judged = _sums(components, -1)
        more_known, more_judged = more_known - np.maximum(known_drop, 0), more_judged - np.maximum(judged_drop, 0)
        less_known, less_judged = less_known + np.minimum(known_drop, 0), less_judged + np.minimum(judged_drop, 0)
        own_scores = np.empty(len(known))
        own_scores[order] = _own_scores(more_known, more_judged, kept)
        distance = components[0]
        usual = [values for values, is_usual in zip(ordered, kept, strict=True) if is_usual]
        explainer = Explainer(kind, usual, interval_s, set_aside=len(ordered) - len(usual))
        scores = []
        for index, values in enumerate(judged):
            more = predictive_score(more_known, float(more_judged[index]), SMALLEST_SUM_SD)
            # An improvement has to show in the level itself, not only in an unusual pattern; and where the level is
            # unusually low, an unusual pattern is no regression.
            height = predictive_score(level.known, float(level.judged[index]), SMALLEST_LOG_SD)
            less = min(predictive_score(less_known, float(less_judged[index]), SMALLEST_SUM_SD), -height)
            if height < UNUSUALLY_LOW:
                more = min(more, height)
            ratio = float(np.exp(distance.judged[index] - distance.known.mean()))
            evidence, sentence = explainer.explain(values, ratio)
            scores.append(
                Score(
                    distance=more,
                    q1=-QUARTILE,
                    q3=QUARTILE,
                    improvement=less,
                    is_recheck_passed=None,
                    p_value=p_of_score(more),
                    direction="more" if more >= less else "less",
                    history_distances=own_scores,
                    evidence=evidence,
                    sentence=sentence,
                )
            )
        return scores


def _beside(part: _Component, kept: NDArray[np.bool_]) -> _Component:
    """Only the kept runs as the known ones; the others follow the targets, to be judged as well."""
    return replace(part, known=part.known[kept], judged=np.concatenate([part.judged, part.known[~kept]]))


def _own_scores(known: Floats, judged: Floats, kept: NDArray[np.bool_]) -> Floats:
    """Scores (k,) of the history's runs: each kept one beside the other kept ones, the others beside all kept ones."""
    scores = np.empty(len(kept))
    scores[kept] = leave_one_out_scores(known, SMALLEST_SUM_SD)
    others = judged[len(judged) - int((~kept).sum()) :]
    scores[~kept] = [predictive_score(known, float(value), SMALLEST_SUM_SD) for value in others]
    return scores


def _canonical_order(known: list[Floats]) -> list[int]:
    """Indices in an order of content: listing the history in another order changes no bit of the result."""
    return sorted(range(len(known)), key=lambda index: known[index].tobytes())


def _load(known: list[Floats], judged: list[Floats], interval_s: float) -> tuple[list[_Component], _Component]:
    scale = LoadScale.of(known)
    both = [scale.levels_and_changes(values) for values in known]
    both_judged = [scale.levels_and_changes(values) for values in judged]
    levels = [np.ascontiguousarray(values[:, 0]) for values in both]
    levels_judged = [np.ascontiguousarray(values[:, 0]) for values in both_judged]
    components = [
        _distance_component(both, both_judged, LOAD_RESOLUTION, weight=1.0),
        _distance_component(levels, levels_judged, LOAD_RESOLUTION, weight=0.5),
    ]
    means, means_judged = (
        np.log(np.array([max(values.mean() - scale.low, 0.0) for values in some]) + LOAD_RESOLUTION * scale.typical)
        for some in (known, judged)
    )
    return components, _Component(means, means_judged, 1.0, +1)


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
    """Weighted sums of the standardised components of the history and the targets; `sign` -1 asks for less load."""
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
        return np.clip(np.sign(scores) * np.maximum(np.abs(scores) - TOLERATED_DROP, 0), -LARGEST_DROP, LARGEST_DROP)

    known = level.known
    own = np.array([_standard(np.delete(known, index), float(value)) for index, value in enumerate(known)])
    return beyond(-own), beyond(-np.array([_standard(known, float(value)) for value in level.judged]))


def _standard(known: Floats, value: float) -> float:
    spread = float(np.std(known, ddof=1)) if len(known) > 1 else 0.0
    return (value - float(known.mean())) / (max(spread, SMALLEST_LOG_SD) * np.sqrt(1 + 1 / len(known)))
