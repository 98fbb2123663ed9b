"""A score judged by an app's own earlier scores: what is normal here, rather than in a textbook.

The score of detector `default` is standard-normal where normal runs are as a textbook has them. Where some of them
have bursts, another device or drift, it is not, and more of them alarm than the level says. The scores that earlier
normal runs had are the measured distribution (an empirical null, Efron 2004). How often a normal run scores at least z:

    p(z) = (m·Q(z) + n·T(z)) / (m + n),  Q the standard normal tail

the predictive distribution of a Dirichlet process whose base measure is the theory, worth m runs (Ferguson 1973), but
with a smooth T in place of the step function of the n earlier scores, which says nothing below 1/n. T has two parts,
divided at u, the theory's upper quartile. The share above u is (m/4 + k)/(m + n), k of the earlier scores being above.
Excesses are measured as e(z) = log(Q(u)/Q(z)), which under the theory is exponential with mean 1; with a gamma prior
worth m/4 runs its predictive tail is (1 + e/S)^(-A), A = m/4 + k, S = m/4 + Σe of those above (Pareto II). Below u it
is the theory's shape with the share left to it. Earlier scores count less with every version since.

With few earlier scores p is the theory's. It falls as z rises and depends on no order. Bursts, drift and heavier
devices cost recall then, not trust; what each variant costs is measured in docs/choices.md.

Earlier runs are taken for normal unless people say otherwise, and people do not look at every alarm. So a score that
chance alone gives one run in 30,000 tells what is normal only where somebody called it a false alarm (`is_usual`):
without that, regressions nobody looked at hide the next ones.

Where something else runs for some seconds of some runs (`transients`), those score far and are not regressions. Of
each unusual run it is known what it would score without its one passing disturbance, z'. An earlier run that is unusual
with it and not without (`is_transient`) had one; their share s, shrunken towards none by the theory's m runs, is how
probable one is here. A run is then at most as improbable as having one and looking like it does without:

    q(z, z') = max(Q(z), s·Q(z'))

and that, as a score, is what is judged by p above, beside what the earlier runs' own z and z' make with the same s. In
an app without such runs s is 0 and q is Q(z). A regression that stays is as unusual without its worst seconds, so it
loses nothing; one that is short and passes is then found by several runs of a version rather than by one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.calibration import LARGEST_SCORE, p_of_score, score_of_p, special
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.unit_offset import UnitOffset

PRIOR_RUNS = 10.0
"""m: so many earlier runs the theory is worth."""
TAIL_SHARE = 0.25
"""Of the theory's runs, above which the tail begins."""
HALF_LIFE_VERSIONS = 12.0
"""After so many versions an earlier run counts half."""
FEWEST_SCORES = 4
"""Earlier scores with which they begin to count."""
UNLIKELY_SCORE = 4.0
"""Above, an earlier run is a regression or a fault until somebody rejects the alarm."""
TRANSIENT_SCORE = 2.3263
"""Above, an earlier run may have been disturbed: one normal run in a hundred is."""
STEADY_SCORE = 1.6449
"""Below, it is not unusual: one normal run in twenty is above."""
WITHOUT_TRANSIENT = "score_without_transient"
"""In a score's evidence, of unusual runs: what it would be by theory without the run's one passing disturbance."""
TRANSIENT_START_S, TRANSIENT_END_S = "transient_start_s", "transient_end_s"
"""In the same evidence: where that is."""


class TheoreticalScore(NamedTuple):
    """What a run scored on one series beside its history, standard-normal by theory.

    Attributes:
        without_transient: z', at most `score`; `score` itself where nothing was taken off.
    """

    score: float
    without_transient: float

    @classmethod
    def of(cls, score: float, evidence: Mapping[str, float]) -> Self:
        """
        Args:
            evidence: of the score; what the detector left there.
        """
        return cls(score, evidence.get(WITHOUT_TRANSIENT, score))

    @property
    def is_transient(self) -> bool:
        """Whether the run is unusual by a passing disturbance only."""
        return bool(had_transient(self))

    def on_unit(self, unit: UnitOffset, foreign_ratio: float) -> Self:
        """Without the offset of its device unit, see `UnitOffset.without`."""
        return type(self)(*(float(unit.without(one, foreign_ratio)) for one in self))


Theories = Sequence[TheoreticalScore] | Floats
"""n scores by theory: those, or an array (n, 2) of their fields in their order."""


def had_transient(past: Theories | TheoreticalScore) -> NDArray[np.bool_]:
    """(n,) Whether each run is unusual by a passing disturbance only; (…, n) of an array (…, n, 2)."""
    score, without = _fields(past)
    had: NDArray[np.bool_] = (score > TRANSIENT_SCORE) & (without < STEADY_SCORE)
    return had


def steady(past: Theories) -> Floats:
    """(n,) Scores of what stays: without the disturbance where it is all that was unusual."""
    score, without = _fields(past)
    stays: Floats = np.where(had_transient(past), without, score)
    return stays


def _fields(past: Theories | TheoreticalScore) -> Floats:
    """(2, n), or (2,) of a single one; (2, …, n) of an array (…, n, 2)."""
    fields: Floats = np.moveaxis(np.asarray(past, dtype=np.float64), -1, 0) if len(past) else np.empty((2, 0))
    return fields


@dataclass(frozen=True, eq=False)
class EmpiricalNull:
    """What earlier runs scored on one series.

    Attributes:
        past: n of those that tell what is normal (`is_usual`), in any order; each without the offset of its device
            unit.
        versions_ago: (n,) how many versions before the judged one each was, 0 or more.
        unit: the offset of the judged run's device unit.
        foreign_ratio: share of the judged run's history that is of other units, 0 to 1; 0 where nobody says.
    """

    past: Theories
    versions_ago: Floats
    unit: UnitOffset = field(default_factory=UnitOffset)
    foreign_ratio: float = 0.0

    def __len__(self) -> int:
        return len(self.past)

    @property
    def has_past(self) -> bool:
        """Whether there are enough of them; below, the theory stands."""
        return len(self) >= FEWEST_SCORES

    @property
    def counts(self) -> bool:
        """Whether a score is worth anything else here than by theory."""
        return self.has_past or self.foreign_ratio > 0

    @cached_property
    def transient_runs(self) -> int:
        """How many of them had a passing disturbance; 0 where too few scores are known for them to count."""
        return int(self._had_transient.sum()) if self.has_past else 0

    @cached_property
    def transient_share(self) -> float:
        """s of the module."""
        if not self.transient_runs:
            return 0.0
        ages = np.sort(self.versions_ago), np.sort(self.versions_ago[self._had_transient])
        every, those = (float(_weights(one).sum()) for one in ages)
        return those / (PRIOR_RUNS + every)

    def judged(self, theory: TheoreticalScore) -> float:
        """The score as it is worth here.

        Raises:
            ValueError: as `calibrated_score`.
        """
        own = theory.on_unit(self.unit, self.foreign_ratio)
        if not self.has_past:
            return own.score
        score = score_beside_transients(own, self.transient_share)
        return calibrated_score(score, self._scores, self.versions_ago)

    def improved(self, improvement: float) -> float:
        """An improvement by theory as it is worth here: without the offset of the device unit, which is as much towards
        the better side as it is not towards the worse. What earlier runs scored says how far normal ones get towards
        the worse side only."""
        return -float(self.unit.without(-improvement, self.foreign_ratio))

    @cached_property
    def _had_transient(self) -> NDArray[np.bool_]:
        return had_transient(self.past)

    @cached_property
    def _scores(self) -> Floats:
        """(n,) those of q of the module."""
        fields = _fields(self.past)
        if not self.transient_share:
            score: Floats = fields[0]
            return score
        own = map(TheoreticalScore, *fields.tolist())
        return np.array([score_beside_transients(one, self.transient_share) for one in own])


def is_usual(past: Theories, is_rejected: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(n,) Whether each earlier run's score tells what is normal; (…, n) of an array (…, n, 2).

    Args:
        past: n of one series.
        is_rejected: (n,) the run's alarm was called a false one; confirmed and accepted runs are no earlier runs here.
    """
    usual: NDArray[np.bool_] = (_fields(past)[0] <= UNLIKELY_SCORE) | had_transient(past) | is_rejected
    return usual


def without_shared(past: Theories, versions_ago: Floats) -> Floats:
    """(n, 2) The earlier runs' scores, with what passes in most runs of a version taken for what the version does.

    Args:
        past: n of one series, whether they are usual or not.
        versions_ago: (n,) the versions of each; a version of one run says nothing.
    """
    score, without = _fields(past)
    had = had_transient(past)
    if had.any():  # hardly ever
        _, version = np.unique(np.asarray(versions_ago), return_inverse=True)
        runs, disturbed = np.bincount(version), np.bincount(version, weights=had)
        is_shared = had & ((runs > 1) & (2 * disturbed > runs))[version]
        without = np.where(is_shared, score, without)
    return np.stack([score, without], axis=1)


def score_beside_transients(theory: TheoreticalScore, share: float) -> float:
    """The score of q of the module; at most that by theory.

    Args:
        share: s, 0 to 1.
    """
    if not share:
        return theory.score
    by_chance = share * p_of_score(theory.without_transient)
    return score_of_p(by_chance) if by_chance > p_of_score(theory.score) else theory.score


def calibrated_score(score: float, past: Floats, versions_ago: Floats, *, prior_runs: float = PRIOR_RUNS) -> float:
    """A standard-normal score with the tail probability that the score has among earlier ones.

    Args:
        score: standard-normal by theory; of one series of one run.
        past: (n,) such scores of the same series of earlier normal runs of the app, in any order; may be empty.
        versions_ago: (n,) how many versions before the judged one each of them was, 0 or more.
        prior_runs: m, see the module.

    Raises:
        ValueError: the lengths differ, a number is not finite, an age is negative, or m is not above 0.
    """
    known, ages = np.asarray(past, dtype=np.float64), np.asarray(versions_ago, dtype=np.float64)
    if known.shape != ages.shape or known.ndim != 1:
        raise ValueError(f"{known.shape} scores with {ages.shape} ages: one age per score is needed")
    if not (math.isfinite(score) and np.isfinite(known).all() and np.isfinite(ages).all()):
        raise ValueError("a score or an age is not finite")
    if (ages < 0).any() or not prior_runs > 0:
        raise ValueError(f"ages below 0 or prior_runs = {prior_runs}: ages are at least 0, prior_runs is above 0")
    if not len(known):
        return score
    order = np.lexsort((ages, known))  # sums of the same numbers in another order may differ in the last bit
    known, weight = known[order], _weights(ages[order])
    theory = p_of_score(score)
    count = float(weight.sum())
    measured = _measured_tail(score, known, weight, prior_runs)
    return score_of_p((prior_runs * theory + count * measured) / (prior_runs + count))


def _weights(ages: Floats) -> Floats:
    return np.exp2(-ages / HALF_LIFE_VERSIONS)


def _measured_tail(score: float, known: Floats, weight: Floats, prior_runs: float) -> float:
    """T of the module."""
    begin = score_of_p(TAIL_SHARE)
    above = known > begin
    prior = prior_runs * TAIL_SHARE
    shape = prior + float(weight[above].sum())
    share = shape / (prior_runs + float(weight.sum()))
    if score <= begin:
        return 1 - (1 - share) * float(special.ndtr(score)) / (1 - TAIL_SHARE)
    scale = prior + float((weight[above] * _excess(np.minimum(known[above], LARGEST_SCORE))).sum())
    return float(share * (1 + float(_excess(np.array(score))) / scale) ** -shape)


def _excess(scores: Floats) -> Floats:
    """log(Q(u) / Q(z)) of scores (n,) above u: exponential with mean 1 under the theory."""
    excess: Floats = math.log(TAIL_SHARE) - special.log_ndtr(-scores)
    return excess
