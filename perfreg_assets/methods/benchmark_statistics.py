"""Comparing two sides of benchmarks on logarithms: ratios of tests, geometric means over them, and their intervals.

A side of a test is the scores of its launches. What is compared are means of their logarithms, so that a mean over
tests is the geometric mean of their ratios. Intervals are Welch's with Satterthwaite's degrees of freedom, over the
launches: the iterations of one launch share its memory layout and compilation and say nothing about the next one
(intervals from them hold far less than they promise, see docs/benchmarks.md). Where each side has one launch only its
iterations are drawn from instead (bootstrap), and that is said.

Differences are logarithms of speed: above 0 the second side is quicker.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.lazy import LazyModule

special = LazyModule("scipy.special")
stats = LazyModule("scipy.stats")

CONFIDENCE = 0.95
DRAWS = 4000
IMPLAUSIBLE_Z = 3.5
IMPLAUSIBLE_LOG = math.log(2)
_MEAN_TO_SD = 1.253314  # Iglewicz and Hoaglin 1993: where the median deviation is 0
_NO_DRAWS = np.empty(0)

Basis = Literal["launches", "iterations", "none"]
"""What an interval rests on."""


@dataclass(frozen=True)
class Change:
    """How much quicker the second side is.

    Attributes:
        log_ratio: logarithm of the ratio of speeds.
        low, high: ends of its interval, logarithms; NaN where nothing tells the noise.
        p_value: two-sided, of no change; NaN likewise.
        terms: (t,) contributions to the variance, with `degrees` (t,) of freedom.
        draws: (DRAWS,) of the bootstrap; empty where it was not needed.
        least_p: no p is below it of so few iterations, however far apart the sides are.
    """

    log_ratio: float
    low: float
    high: float
    p_value: float
    basis: Basis
    terms: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    degrees: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    draws: Floats = field(default_factory=lambda: _NO_DRAWS, repr=False)
    least_p: float = 0.0


def log_mean(scores: Floats) -> float:
    """Mean of the logarithms of scores (n,), all above 0."""
    return float(np.mean(np.log(scores)))


def of_launches(a: Floats, b: Floats, sign: int) -> Change:
    """A test with at least two launches on a side.

    Where the other side has one, it counts with the scatter of the first.

    Args:
        a, b: scores (r_a,) and (r_b,) of the launches, any unit, all above 0.
        sign: 1 where more is quicker, -1 where less is.

    Raises:
        ValueError: neither side has two launches.
    """
    counts = len(a), len(b)
    (mean_a, variance_a), (mean_b, variance_b) = _moments(np.log(a).tolist()), _moments(np.log(b).tolist())
    difference = sign * (mean_b - mean_a)
    if min(counts) > 1:
        terms = np.array([variance_a / counts[0], variance_b / counts[1]])
        return welch(difference, terms, np.array([counts[0] - 1.0, counts[1] - 1.0]))
    if max(counts) < 2:
        raise ValueError("one launch on each side; compare by iterations")
    variance, count = (variance_a, counts[0]) if counts[0] > 1 else (variance_b, counts[1])
    return welch(difference, np.array([variance * (1 + 1 / count)]), np.array([count - 1.0]))


def _moments(values: list[float]) -> tuple[float, float]:
    """(mean, variance) of a few numbers, for which numpy's own functions take ten times as long; NaN of one."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return mean, math.nan
    if min(values) == max(values):
        return values[0], 0.0  # their mean can be another in its last digit, and noise be seen where there is none
    return mean, math.fsum([(one - mean) ** 2 for one in values]) / (count - 1)


def of_iterations(
    a: Floats, b: Floats, sign: int, random: np.random.Generator, *, p_rank: float | None = None
) -> Change:
    """A test with one launch on each side: medians of iterations that are drawn anew, with replacement.

    Args:
        a, b: values (n_a,) and (n_b,) of the iterations, any unit, all above 0.
        sign: 1 where more is quicker, -1 where less is.
        p_rank: Mann and Whitney's p of them, where it is known (`rank_p_values`).
    """
    difference = sign * float(np.log(np.median(b)) - np.log(np.median(a)))
    if min(len(a), len(b)) < 2 or np.ptp(a) == np.ptp(b) == 0:  # the latter is no proof of none
        return Change(difference, math.nan, math.nan, math.nan, "none")
    drawn_a = np.log(np.median(random.choice(a, (DRAWS, len(a))), axis=1))
    drawn_b = np.log(np.median(random.choice(b, (DRAWS, len(b))), axis=1))
    p_value = float(rank_p_values([a], [b])[0]) if p_rank is None else p_rank
    return _drawn(difference, sign * (drawn_b - drawn_a), p_value, least_p(len(a), len(b)))


def least_p(a: int, b: int) -> float:
    """Mann and Whitney's p, two-sided, of `a` and `b` values of which one side's are all above the other's: two orders
    of the binomial(a + b, a) that are as likely where nothing differs."""
    return 2 / math.comb(a + b, a)


def iterations_needed(tests: int, level: float) -> int:
    """Of how many iterations on each side so many tests can show at all, after Holm's correction, that they differ."""
    return next(count for count in itertools.count(2) if least_p(count, count) * tests <= level)


def mean_change(changes: Sequence[Change], weights: Floats) -> Change:
    """The weighted mean of changes: of their logarithms, hence the geometric mean of the ratios.

    Where nothing tells the noise of one of them, nothing tells that of the mean; the mean of one change is that change.

    Args:
        changes: of tests that are independent of each other.
        weights: (t,), adding up to 1.
    """
    difference = float(sum(weight * one.log_ratio for one, weight in zip(changes, weights, strict=True)))
    bases = {one.basis for one in changes}
    # A test without visible noise is not known exactly: beside others it would count as if it were.
    if any(math.isnan(one.p_value) for one in changes):
        return Change(difference, math.nan, math.nan, math.nan, "none")
    if len(changes) == 1:  # its p is of ranks, that of the draws another one
        return changes[0]
    if bases == {"iterations"}:
        drawn = sum((weight * one.draws for one, weight in zip(changes, weights, strict=True)), np.zeros(DRAWS))
        below = (1 + float(np.sum(drawn <= 0))) / (1 + DRAWS)
        above = (1 + float(np.sum(drawn >= 0))) / (1 + DRAWS)
        # As of one test, of several at once: each of them on the same side.
        together = 2 * math.prod(one.least_p / 2 for one, weight in zip(changes, weights, strict=True) if weight)
        return _drawn(difference, drawn, min(1.0, 2 * min(below, above)), together)
    terms = np.concatenate([weight**2 * one.terms for one, weight in zip(changes, weights, strict=True)])
    whole = welch(difference, terms, np.concatenate([one.degrees for one in changes]))
    if "iterations" not in bases:
        return whole
    return Change(difference, whole.low, whole.high, whole.p_value, "iterations", terms, whole.degrees)


def rank_p_values(a: Sequence[Floats], b: Sequence[Floats]) -> Floats:
    """Mann and Whitney's p (t,), two-sided, of tests with scores (n_a,) and (n_b,); NaN where a side has fewer than 2.

    Tests of the same sizes are looked at together, those with equal values by themselves: one of them would have the p
    of all approximated.
    """
    found = np.full(len(a), np.nan)
    alike: dict[tuple[int, int, bool], list[int]] = {}
    for place, (one, other) in enumerate(zip(a, b, strict=True)):
        if min(len(one), len(other)) > 1:
            has_ties = len({*one.tolist(), *other.tolist()}) < len(one) + len(other)
            alike.setdefault((len(one), len(other), has_ties), []).append(place)
    for places in alike.values():
        left, right = (np.array([side[place] for place in places]) for side in (a, b))
        found[places] = stats.mannwhitneyu(left, right, axis=1).pvalue
    return found


def modified_z(log_ratios: Floats) -> Floats:
    """Distances (t,) of log ratios (t,) from their median in robust standard deviations (Iglewicz and Hoaglin)."""
    deviations = log_ratios - np.median(log_ratios)
    spread = float(np.median(np.abs(deviations))) / 0.6744897501960817
    spread = spread or _MEAN_TO_SD * float(np.mean(np.abs(deviations)))
    return deviations / spread if spread else np.zeros(len(log_ratios))


def implausible(log_ratios: Floats) -> np.ndarray:
    """Mask (t,) of tests whose ratio is far from those of the others: beyond 3.5 robust standard deviations and more
    than a factor of two from the median (document 001's libGDX AI: × 40 among ratios of 1 to 1.45)."""
    if len(log_ratios) < 3:
        return np.zeros(len(log_ratios), dtype=bool)
    far = np.abs(log_ratios - np.median(log_ratios)) > IMPLAUSIBLE_LOG
    return (np.abs(modified_z(log_ratios)) > IMPLAUSIBLE_Z) & far


def holm(p_values: Floats) -> Floats:
    """P-values (t,) corrected for their number (Holm 1979); NaN stays and does not count."""
    corrected = np.full(len(p_values), np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    steps = p_values[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps)) if len(order) else steps
    return corrected


def welch(difference: float, terms: Floats, degrees: Floats) -> Change:
    """A difference of means with its interval and two-sided p; NaN where no noise was seen.

    Args:
        terms, degrees: (t,) contributions to its variance, and how many degrees of freedom each has.
    """
    parts = terms.tolist()  # of a test these are two: numpy's own sums would take most of the time
    variance = math.fsum(parts)
    if variance <= 0:  # equal to the last digit: no noise was seen, which is no proof of none
        return Change(difference, math.nan, math.nan, math.nan, "launches", terms, degrees)
    freedom = variance**2 / math.fsum([one**2 / own for one, own in zip(parts, degrees.tolist(), strict=True)])
    error = math.sqrt(variance)
    reach = float(special.stdtrit(freedom, 0.5 + CONFIDENCE / 2)) * error
    p_value = 2 * float(special.stdtr(freedom, -abs(difference) / error))
    return Change(difference, difference - reach, difference + reach, p_value, "launches", terms, degrees)


def _drawn(difference: float, draws: Floats, p_value: float, least: float) -> Change:
    low, high = (float(one) for one in np.quantile(draws, [0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2]))
    return Change(
        difference, low, high, p_value, "iterations",
        np.array([float(np.var(draws, ddof=1))]), np.array([float(DRAWS)]), draws, least,
    )  # fmt: skip
