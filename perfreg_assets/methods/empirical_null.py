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
devices cost recall then, not trust; what each variant costs is measured in docs/quality.md.

Earlier runs are taken for normal unless people say otherwise, and people do not look at every alarm. So a score that
chance alone gives one run in 30,000 tells what is normal only where somebody called it a false alarm (`is_usual`):
without that, regressions nobody looked at hide the next ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

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


@dataclass(frozen=True, eq=False)
class EmpiricalNull:
    """What earlier runs scored on one series.

    Attributes:
        scores: (n,) standard-normal by theory, of those that tell what is normal (`is_usual`), in any order; each
            without the offset of its device unit.
        versions_ago: (n,) how many versions before the judged one each was, 0 or more.
        unit: the offset of the judged run's device unit.
        foreign_ratio: share of the judged run's history that is of other units, 0 to 1; 0 where nobody says.
    """

    scores: Floats
    versions_ago: Floats
    unit: UnitOffset = field(default_factory=UnitOffset)
    foreign_ratio: float = 0.0

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def has_past(self) -> bool:
        """Whether there are enough of them; below, the theory stands."""
        return len(self) >= FEWEST_SCORES

    @property
    def counts(self) -> bool:
        """Whether a score is worth anything else here than by theory."""
        return self.has_past or self.foreign_ratio > 0

    def judged(self, score: float) -> float:
        """The score as it is worth here.

        Raises:
            ValueError: as `calibrated_score`.
        """
        own = self.unit.without(score, self.foreign_ratio)
        return calibrated_score(own, self.scores, self.versions_ago) if self.has_past else own


def is_usual(score: float, review: str | None) -> bool:
    """Whether an earlier run's score tells what is normal.

    Args:
        review: in force for the run: `rejected` is a false alarm; confirmed and accepted runs are no earlier runs here.
    """
    return score <= UNLIKELY_SCORE or review == "rejected"


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
    known, weight = known[order], np.exp2(-ages[order] / HALF_LIFE_VERSIONS)
    theory = p_of_score(score)
    count = float(weight.sum())
    measured = _measured_tail(score, known, weight, prior_runs)
    return score_of_p((prior_runs * theory + count * measured) / (prior_runs + count))


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
