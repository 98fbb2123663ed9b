"""The scores of detector `default`, judged by the app's own earlier ones: what is kept and what it was compared with.

`calibrated` is what the product does where nobody reviews anything and nobody states device units, `calibrated-units`
where runs state them, `calibrated-unseen` where some of the earlier runs are regressions that nobody saw, and
`calibrated-reviewed` where every false alarm was rejected. The others stand here only, to be measured beside them:
`calibrated-whole` takes no passing disturbance off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perfreg_assets.evaluation.shift_judging import ScoredVersion
from perfreg_assets.methods.calibration import MAD_TO_SD, p_of_score, score_of_p
from perfreg_assets.methods.empirical_null import (
    PRIOR_RUNS,
    EmpiricalNull,
    TheoreticalScore,
    is_usual,
    steady,
    without_shared,
)
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.samples import Score
from perfreg_assets.methods.unit_offset import UnitOffset

KERNEL_SD = 0.3


@dataclass(frozen=True)
class Past:
    """Attributes:
    theories: n of the judged series, of earlier normal runs.
    versions_ago: (n,) how old each is.
    unseen, unseen_ago: the same of earlier runs with a regression, one of every other version.
    of_all_series: (n · series,) the scores of every series.
    is_other_unit: the judged runs, and so the earlier ones, are of another device unit than their histories.
    """

    theories: Sequence[TheoreticalScore]
    versions_ago: Floats
    of_all_series: Floats
    unseen: Sequence[TheoreticalScore]
    unseen_ago: Floats
    is_other_unit: bool = False

    @property
    def scores(self) -> Floats:
        """(n,) those of `theories`."""
        return np.array([one.score for one in self.theories])


Null = Callable[[TheoreticalScore, Past], float]
"""A score by theory and the past → the score that it is worth."""


def recalibrate(versions: Sequence[ScoredVersion], null: Null) -> list[ScoredVersion]:
    """Every version's scores beside those of the earlier versions' normal runs, which nobody took for a regression."""
    found: list[ScoredVersion] = []
    before: list[ScoredVersion] = []
    for version in versions:
        scores = {
            series: [_with(score, null(_theory(score), _past(before, version, series))) for score in of_series]
            for series, of_series in version.scores.items()
        }
        found.append(replace(version, scores=scores))
        if version.is_past:
            before.append(version)
    return found


def _past(before: Sequence[ScoredVersion], version: ScoredVersion, series: str) -> Past:
    def ages(ones: Sequence[tuple[TheoreticalScore, ScoredVersion]]) -> Floats:
        return np.array([version.step.number - one.step.number for _, one in ones], dtype=np.float64)

    known = [(_theory(score), one) for one in before for score in one.of_normal[series]]
    unseen = [
        (_theory(one.scores[series][len(one.step.normal)]), one)
        for one in before
        if one.step.number % 2 and len(one.step.anomalous)
    ]
    everything = [score.distance for one in before for scores in one.of_normal.values() for score in scores]
    return Past(
        [theory for theory, _ in known],
        ages(known),
        np.array(everything),
        [theory for theory, _ in unseen],
        ages(unseen),
        version.step.is_other_unit,
    )


def _theory(score: Score) -> TheoreticalScore:
    return TheoreticalScore.of(score.distance, score.evidence)


def _with(score: Score, distance: float) -> Score:
    return replace(score, distance=distance, p_value=p_of_score(distance))


def _calibrated(theory: TheoreticalScore, past: Past) -> float:
    return _unreviewed(past.theories, past.versions_ago).judged(theory)


def _whole(theory: TheoreticalScore, past: Past) -> float:
    return _unreviewed([_as_it_is(one) for one in past.theories], past.versions_ago).judged(_as_it_is(theory))


def _as_it_is(theory: TheoreticalScore) -> TheoreticalScore:
    return theory._replace(without_transient=theory.score)


def _units(theory: TheoreticalScore, past: Past) -> float:
    foreign = float(past.is_other_unit)
    usual = _unreviewed(past.theories, past.versions_ago)
    unit = UnitOffset.of(steady(usual.past), np.full(len(usual), foreign))
    own = unit.without(np.asarray(usual.past), np.array(foreign))
    return EmpiricalNull(own, usual.versions_ago, unit, foreign).judged(theory)


def _unseen(theory: TheoreticalScore, past: Past) -> float:
    every, ages = [*past.theories, *past.unseen], np.concatenate([past.versions_ago, past.unseen_ago])
    return _unreviewed(every, ages).judged(theory)


def _unreviewed(theories: Sequence[TheoreticalScore], ages: Floats) -> EmpiricalNull:
    known = without_shared(theories, ages)
    usual = is_usual(known, np.zeros(len(known), dtype=bool))
    return EmpiricalNull(known[usual], ages[usual])


def _reviewed(theory: TheoreticalScore, past: Past) -> float:
    return EmpiricalNull(without_shared(past.theories, past.versions_ago), past.versions_ago).judged(theory)


def _conformal(theory: TheoreticalScore, past: Past) -> float:
    """The rank among the earlier scores of all series (Vovk et al. 2005); one that is never reached is 1/(n + 1)."""
    return score_of_p((1 + int((past.of_all_series >= theory.score).sum())) / (1 + len(past.of_all_series)))


def _studentised(theory: TheoreticalScore, past: Past) -> float:
    """Location and scale of the device's earlier scores, shrunk to those of the theory."""
    if len(past.scores) < 2:
        return theory.score
    middle = float(np.median(past.scores))
    return _standardised(theory.score, middle, float(np.mean((past.scores - middle) ** 2)), len(past.scores))


def _trimmed(theory: TheoreticalScore, past: Past) -> float:
    """The same with a scale that bursts do not widen (MAD)."""
    if len(past.scores) < 2:
        return theory.score
    middle = float(np.median(past.scores))
    scale = MAD_TO_SD * float(np.median(np.abs(past.scores - middle)))
    return _standardised(theory.score, middle, scale**2, len(past.scores))


def _standardised(score: float, middle: float, variance: float, count: int) -> float:
    whole = PRIOR_RUNS + count
    return (score - middle * count / whole) / float(np.sqrt((PRIOR_RUNS + count * variance) / whole))


def _smoothed(theory: TheoreticalScore, past: Past) -> float:
    """The earlier scores themselves, each as a narrow normal distribution, and the theory's share."""
    tails = sum(p_of_score((theory.score - float(one)) / KERNEL_SD) for one in past.scores)
    return score_of_p((PRIOR_RUNS * p_of_score(theory.score) + tails) / (PRIOR_RUNS + len(past.scores)))


NULLS: dict[str, Null] = {
    "calibrated": _calibrated,
    "calibrated-whole": _whole,
    "calibrated-units": _units,
    "calibrated-unseen": _unseen,
    "calibrated-reviewed": _reviewed,
    "calibrated-conformal": _conformal,
    "calibrated-studentised": _studentised,
    "calibrated-trimmed": _trimmed,
    "calibrated-smoothed": _smoothed,
}
