"""Two sides of runs beside each other, without any history: means of each series with the interval of their difference.

* Runs are what varies: of two or more runs on a side the interval is Welch's over the means of the runs.
* One run on each side says nothing of how runs differ. What its own course says is told instead: both means are drawn
  anew from blocks of the course (stationary bootstrap, Politis and Romano 1994), and that is named. Of memory not even
  that: its course is no noise around a level.
* A leak hardly moves the mean of a session. Of memory the growth within each run counts as well: the median of the
  slopes between its medians of 10 s (`theil_sen_slope`), compared over the runs like the means.
* A verdict needs three runs on each side. It is Holm's (1979) over the means of the judged series and the growth of
  those of memory, so that at the level .05 at most one comparison in twenty of sides that do not differ says that they
  do.
* What "normal" is worth: the smallest difference that such runs would have shown in eight of ten comparisons, by the
  noncentral t distribution and the noise that they have, at the level that Holm tests the smallest p-value by.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import special

from perfreg_assets.methods.benchmark_statistics import CONFIDENCE, Change, holm, welch
from perfreg_assets.methods.features import theil_sen_slope
from perfreg_assets.methods.inputs import Floats

LEVEL = 0.05
POWER = 0.8
"""Of such comparisons find a difference of the size that is told as detectable."""
RUNS_MINIMUM = 3
GROWTH_SAMPLES_MINIMUM = 10  # of a run: fewer tell a step from a slope by chance only
DRAWS = 2000
_BLOCK_POWER = 1 / 3  # of the length of the series: the order at which the variance of a mean is estimated best

Basis = Literal["runs", "within_run", "none"]
"""What an interval rests on."""
Worse = Literal["more", "less", "either"]
State = Literal["anomalous", "improved", "changed", "normal", "not_enough_runs"]


@dataclass(frozen=True)
class Courses:
    """A series on both sides.

    Attributes:
        a, b: the samples (n,) of each run.
        worse: which direction is a regression.
        is_judged: whether it counts for the verdict.
        is_memory: its course is a level that grows, and no noise.
        interval_s: between samples.
    """

    unit: str
    a: Sequence[Floats]
    b: Sequence[Floats]
    worse: Worse
    is_judged: bool
    is_memory: bool
    interval_s: float = 1.0


@dataclass(frozen=True)
class SeriesDifference:
    """Attributes:
    difference: mean_b - mean_a, of means over runs of means over time, in the unit of the series.
    low, high, p_value: NaN where nothing tells the noise; the p-value is of no difference, two-sided.
    p_holm: corrected for the number of judged means and growths; NaN for one that is not judged.
    detectable: the difference that `POWER` of such comparisons call one, in the unit of the series, above 0; NaN where
        nothing is judged or nothing tells the noise.
    growth_…: the same of the growth within the runs, in the unit of the series per minute; NaN but for memory.
    mean_state, growth_state: what the mean and the growth say, each by itself; None where it was not judged.
    """

    series: str
    unit: str
    runs_a: int
    runs_b: int
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    p_value: float
    p_holm: float
    growth_a: float
    growth_b: float
    growth_difference: float
    growth_low: float
    growth_high: float
    growth_p_value: float
    growth_p_holm: float
    detectable: float
    growth_detectable: float
    basis: Basis
    is_judged: bool
    state: State
    mean_state: State | None = None
    growth_state: State | None = None


@dataclass(frozen=True)
class SidesCompared:
    """`verdict`: that of the judged series together; `level`: of false alarms, for all of them together."""

    series: tuple[SeriesDifference, ...]
    verdict: State
    level: float = LEVEL


def compare_sides(courses: Mapping[str, Courses], *, level: float = LEVEL, seed: int = 0) -> SidesCompared:
    """Compares all series that both sides have.

    Args:
        level: of a false alarm in any judged series.
        seed: of what is drawn.
    """
    random = np.random.default_rng(seed)
    names = [name for name, one in courses.items() if one.a and one.b]
    measured = [_Numbers.of(courses[name]) for name in names]
    plain = [_difference(name, courses[name], one, random) for name, one in zip(names, measured, strict=True)]
    judged = np.array([one.is_judged and min(one.runs_a, one.runs_b) >= RUNS_MINIMUM for one in plain], dtype=bool)
    p_values = np.array([[one.p_value, one.growth_p_value] for one in plain]).reshape(-1, 2)
    tested = np.where(judged[:, None], p_values, np.nan)
    corrected = holm(tested.ravel()).reshape(-1, 2)
    tests = max(int(np.count_nonzero(~np.isnan(tested))), 1)
    found = tuple(
        _judge(_with_detectable(one, numbers, p, level / tests), courses[one.series].worse,
               float(of_mean), float(of_growth), level)
        for one, numbers, p, (of_mean, of_growth) in zip(plain, measured, tested, corrected, strict=True)
    )  # fmt: skip
    return SidesCompared(found, _verdict([one.state for one in found if one.is_judged]), level)


@dataclass(frozen=True)
class _Numbers:
    """One number per run, (r,) of both sides: means over time; growths per minute, None for what is no memory or has a
    run too short for a slope."""

    means: tuple[Floats, Floats]
    growths: tuple[Floats, Floats] | None

    @classmethod
    def of(cls, one: Courses) -> _Numbers:
        a, b = (np.array([float(np.mean(values)) for values in side]) for side in (one.a, one.b))
        shortest = min(len(values) for side in (one.a, one.b) for values in side)
        if not one.is_memory or shortest < GROWTH_SAMPLES_MINIMUM:
            return cls((a, b), None)
        growths_a, growths_b = (
            np.array([60 * theil_sen_slope(values, one.interval_s) for values in side]) for side in (one.a, one.b)
        )
        return cls((a, b), (growths_a, growths_b))


def _difference(name: str, one: Courses, numbers: _Numbers, random: np.random.Generator) -> SeriesDifference:
    a, b = numbers.means
    difference = float(b.mean() - a.mean())
    low = high = p_value = math.nan
    basis: Basis = "none"
    if max(len(a), len(b)) > 1:
        basis, found = "runs", welch_of_runs(a, b)
        low, high, p_value = found.low, found.high, found.p_value
    elif not one.is_memory and min(len(one.a[0]), len(one.b[0])) > 1:
        basis = "within_run"
        drawn = drawn_means(one.b[0], random) - drawn_means(one.a[0], random)
        low, high = (float(end) for end in np.quantile(drawn, [0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2]))
    growth_a, growth_b, growth = _growths(numbers)
    return SeriesDifference(
        series=name, unit=one.unit, runs_a=len(a), runs_b=len(b), mean_a=float(a.mean()), mean_b=float(b.mean()),
        difference=difference, low=low, high=high, p_value=p_value, p_holm=math.nan, basis=basis,
        growth_a=growth_a, growth_b=growth_b, growth_difference=growth_b - growth_a, growth_low=growth.low,
        growth_high=growth.high, growth_p_value=growth.p_value, growth_p_holm=math.nan,
        detectable=math.nan, growth_detectable=math.nan,
        is_judged=one.is_judged, state="not_enough_runs",
    )  # fmt: skip


def _growths(numbers: _Numbers) -> tuple[float, float, Change]:
    """Mean growth per minute on both sides, and the difference; NaN where nothing is known of it."""
    nothing = Change(math.nan, math.nan, math.nan, math.nan, "launches", np.empty(0), np.empty(0))
    if numbers.growths is None:
        return math.nan, math.nan, nothing
    a, b = numbers.growths
    return float(a.mean()), float(b.mean()), welch_of_runs(a, b) if max(len(a), len(b)) > 1 else nothing


def _with_detectable(one: SeriesDifference, numbers: _Numbers, tested: Floats, level: float) -> SeriesDifference:
    """`tested`: p-values of mean and growth, NaN of what is not judged. `level`: of the smallest of all p-values."""
    of_mean = of_growth = math.nan
    if not math.isnan(tested[0]):
        of_mean = detectable(*numbers.means, level)
    if numbers.growths is not None and not math.isnan(tested[1]):
        of_growth = detectable(*numbers.growths, level)
    return replace(one, detectable=of_mean, growth_detectable=of_growth)


def detectable(a: Floats, b: Floats, level: float) -> float:
    """The true difference of means that `POWER` of comparisons of sides with this noise call one at a level.

    Args:
        a, b: one number per run, (r,) of each side, two at least; in any unit, which is that of the result.
    """
    terms = [float(np.var(side, ddof=1)) / len(side) for side in (a, b)]
    variance = math.fsum(terms)
    if variance <= 0:
        return math.nan
    freedom = variance**2 / math.fsum(one**2 / (len(side) - 1) for one, side in zip(terms, (a, b), strict=True))
    needed = float(special.stdtrit(freedom, 1 - level / 2))
    return float(special.nctdtrinc(freedom, 1 - POWER, needed)) * math.sqrt(variance)


def welch_of_runs(a: Floats, b: Floats) -> Change:
    """Of one number per run, (r,) of each side, two or more in all; a side with one run counts with the scatter of the
    other. NaN where no noise was seen."""
    difference = float(b.mean() - a.mean())
    if min(len(a), len(b)) > 1:
        terms = np.array([float(np.var(side, ddof=1)) / len(side) for side in (a, b)])
        return welch(difference, terms, np.array([len(a) - 1.0, len(b) - 1.0]))
    many = a if len(a) > 1 else b
    return welch(difference, np.array([float(np.var(many, ddof=1)) * (1 + 1 / len(many))]), np.array([len(many) - 1.0]))


def drawn_means(values: Floats, random: np.random.Generator, draws: int = DRAWS) -> Floats:
    """Means (draws,) of a course (n,) put together anew from blocks of itself, of random length and in a circle."""
    count = len(values)
    stay = 1 - 1 / max(1.0, count**_BLOCK_POWER)
    starts = random.integers(0, count, (draws, count))
    is_new = random.random((draws, count)) >= stay
    is_new[:, 0] = True
    # Each place goes on from the last new start before it.
    last = np.maximum.accumulate(np.where(is_new, np.arange(count), 0), axis=1)
    places = (np.take_along_axis(starts, last, axis=1) + np.arange(count) - last) % count
    means: Floats = values[places].mean(axis=1)
    return means


def _judge(one: SeriesDifference, worse: Worse, of_mean: float, of_growth: float, level: float) -> SeriesDifference:
    """Of mean and growth the worse one; a p-value that is NaN decides nothing."""
    tests = [(of_mean, one.difference), (of_growth, one.growth_difference)]
    mean, growth = (None if math.isnan(p) else _state(p, difference, worse, level) for p, difference in tests)
    state = _verdict([each for each in (mean, growth) if each is not None])
    return replace(one, p_holm=of_mean, growth_p_holm=of_growth, state=state, mean_state=mean, growth_state=growth)


def _state(p_holm: float, difference: float, worse: Worse, level: float) -> State:
    if p_holm > level:
        return "normal"
    return "changed" if worse == "either" else "anomalous" if (difference > 0) == (worse == "more") else "improved"


def _verdict(states: Sequence[State]) -> State:
    order: tuple[State, ...] = ("anomalous", "improved", "changed", "normal")
    return next((state for state in order if state in states), "not_enough_runs")
