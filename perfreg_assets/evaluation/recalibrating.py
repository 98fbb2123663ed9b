"""The scores of detector `default`, judged by the app's own earlier ones: what is kept and what it was compared with.

`calibrated` is what the product does where nobody reviews anything and nobody states device units, `calibrated-units`
where runs state them, `calibrated-unseen` where some of the earlier runs are regressions that nobody saw, and
`calibrated-reviewed` where every false alarm was rejected. The others stand here only, to be measured beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perfreg_assets.evaluation.shift_judging import ScoredVersion
from perfreg_assets.methods.calibration import MAD_TO_SD, p_of_score, score_of_p
from perfreg_assets.methods.empirical_null import PRIOR_RUNS, EmpiricalNull, is_usual
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.samples import Score
from perfreg_assets.methods.unit_offset import UnitOffset

KERNEL_SD = 0.3


@dataclass(frozen=True)
class Past:
    """Attributes:
    scores: (n,) of the judged series, of earlier normal runs.
    versions_ago: (n,) how old each is.
    unseen, unseen_ago: the same of earlier runs with a regression, one of every other version.
    of_all_series: (n · series,) the same of every series.
    is_other_unit: the judged runs, and so the earlier ones, are of another device unit than their histories.
    """

    scores: Floats
    versions_ago: Floats
    of_all_series: Floats
    unseen: Floats
    unseen_ago: Floats
    is_other_unit: bool = False


Null = Callable[[float, Past], float]
"""A standard-normal score and the past → the score that it is worth."""


def recalibrate(versions: Sequence[ScoredVersion], null: Null) -> list[ScoredVersion]:
    """Every version's scores beside those of the earlier versions' normal runs, which nobody took for a regression."""
    found: list[ScoredVersion] = []
    before: list[ScoredVersion] = []
    for version in versions:
        scores = {
            series: [_with(score, null(score.distance, _past(before, version, series))) for score in of_series]
            for series, of_series in version.scores.items()
        }
        found.append(replace(version, scores=scores))
        if version.is_past:
            before.append(version)
    return found


def _past(before: Sequence[ScoredVersion], version: ScoredVersion, series: str) -> Past:
    known = [
        (score.distance, version.step.number - one.step.number) for one in before for score in one.of_normal[series]
    ]
    unseen = [
        (one.scores[series][len(one.step.normal)].distance, version.step.number - one.step.number)
        for one in before
        if one.step.number % 2 and len(one.step.anomalous)
    ]
    everything = [score.distance for one in before for scores in one.of_normal.values() for score in scores]
    return Past(*_columns(known), np.array(everything), *_columns(unseen), version.step.is_other_unit)


def _columns(pairs: Sequence[tuple[float, int]]) -> tuple[Floats, Floats]:
    scores, ages = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return scores, ages


def _with(score: Score, distance: float) -> Score:
    return replace(score, distance=distance, p_value=p_of_score(distance))


def _calibrated(score: float, past: Past) -> float:
    return _unreviewed(past.scores, past.versions_ago).judged(score)


def _units(score: float, past: Past) -> float:
    foreign = float(past.is_other_unit)
    usual = _unreviewed(past.scores, past.versions_ago)
    unit = UnitOffset.of(usual.scores, np.full(len(usual), foreign))
    own = np.array([unit.without(float(one), foreign) for one in usual.scores])
    return EmpiricalNull(own, usual.versions_ago, unit, foreign).judged(score)


def _unseen(score: float, past: Past) -> float:
    every, ages = np.concatenate([past.scores, past.unseen]), np.concatenate([past.versions_ago, past.unseen_ago])
    return _unreviewed(every, ages).judged(score)


def _unreviewed(scores: Floats, ages: Floats) -> EmpiricalNull:
    usual = np.array([is_usual(float(one), None) for one in scores], dtype=bool)
    return EmpiricalNull(scores[usual], ages[usual])


def _reviewed(score: float, past: Past) -> float:
    return EmpiricalNull(past.scores, past.versions_ago).judged(score)


def _conformal(score: float, past: Past) -> float:
    """The rank among the earlier scores of all series (Vovk et al. 2005); one that is never reached is 1/(n + 1)."""
    return score_of_p((1 + int((past.of_all_series >= score).sum())) / (1 + len(past.of_all_series)))


def _studentised(score: float, past: Past) -> float:
    """Location and scale of the device's earlier scores, shrunk to those of the theory."""
    if len(past.scores) < 2:
        return score
    middle = float(np.median(past.scores))
    return _standardised(score, middle, float(np.mean((past.scores - middle) ** 2)), len(past.scores))


def _trimmed(score: float, past: Past) -> float:
    """The same with a scale that bursts do not widen (MAD)."""
    if len(past.scores) < 2:
        return score
    middle = float(np.median(past.scores))
    scale = MAD_TO_SD * float(np.median(np.abs(past.scores - middle)))
    return _standardised(score, middle, scale**2, len(past.scores))


def _standardised(score: float, middle: float, variance: float, count: int) -> float:
    whole = PRIOR_RUNS + count
    return (score - middle * count / whole) / float(np.sqrt((PRIOR_RUNS + count * variance) / whole))


def _smoothed(score: float, past: Past) -> float:
    """The earlier scores themselves, each as a narrow normal distribution, and the theory's share."""
    tails = sum(p_of_score((score - float(one)) / KERNEL_SD) for one in past.scores)
    return score_of_p((PRIOR_RUNS * p_of_score(score) + tails) / (PRIOR_RUNS + len(past.scores)))


NULLS: dict[str, Null] = {
    "calibrated": _calibrated,
    "calibrated-units": _units,
    "calibrated-unseen": _unseen,
    "calibrated-reviewed": _reviewed,
    "calibrated-conformal": _conformal,
    "calibrated-studentised": _studentised,
    "calibrated-trimmed": _trimmed,
    "calibrated-smoothed": _smoothed,
}
