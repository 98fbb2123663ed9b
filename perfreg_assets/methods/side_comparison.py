"""Two sides of runs beside each other, without any history: means of each series with the interval of their difference.

* Runs are what varies: of two or more runs on a side the interval is Welch's over the means of the runs.
* One run on each side says nothing of how runs differ. What its own course says is told instead: both means are drawn
  anew from blocks of the course (stationary bootstrap, Politis and Romano 1994), and that is named. Of memory not even
  that: its course is no noise around a level.
* A leak hardly moves the mean of a session. Of memory the growth within each run counts as well: the median of the
  slopes between its samples (Theil 1950, Sen 1968), compared over the runs like the means.
* A verdict needs three runs on each side. It is Holm's (1979) over the means of the judged series and the growth of
  those of memory, so that at the level .05 at most one comparison in twenty of sides that do not differ says that they
  do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from perfreg_assets.methods.benchmark_statistics import CONFIDENCE, Change, holm, welch
from perfreg_assets.methods.features import theil_sen_slope
from perfreg_assets.methods.inputs import Floats

LEVEL = 0.05
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
    growth_…: the same of the growth within the runs, in the unit of the series per minute; NaN but for memory.
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
    basis: Basis
    is_judged: bool
    state: State


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
    plain = [_difference(name, courses[name], random) for name in names]
    judged = np.array([one.is_judged and min(one.runs_a, one.runs_b) >= RUNS_MINIMUM for one in plain], dtype=bool)
    p_values = np.array([[one.p_value, one.growth_p_value] for one in plain]).reshape(-1, 2)
    corrected = holm(np.where(judged[:, None], p_values, np.nan).ravel()).reshape(-1, 2)
    found = tuple(
        _judge(one, courses[one.series].worse, float(of_mean), float(of_growth), level)
        for one, (of_mean, of_growth) in zip(plain, corrected, strict=True)
    )
    return SidesCompared(found, _verdict([one.state for one in found if one.is_judged]), level)


def _difference(name: str, one: Courses, random: np.random.Generator) -> SeriesDifference:
    a, b = (np.array([float(np.mean(values)) for values in side]) for side in (one.a, one.b))
    difference = float(b.mean() - a.mean())
    low = high = p_value = math.nan
    basis: Basis = "none"
    if max(len(a), len(b)) > 1:
        basis, found = "runs", _welch_of(a, b)
        low, high, p_value = found.low, found.high, found.p_value
    elif not one.is_memory and min(len(one.a[0]), len(one.b[0])) > 1:
        basis = "within_run"
        drawn = drawn_means(one.b[0], random) - drawn_means(one.a[0], random)
        low, high = (float(end) for end in np.quantile(drawn, [0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2]))
    growth_a, growth_b, growth = _growths(one)
    return SeriesDifference(
        series=name, unit=one.unit, runs_a=len(a), runs_b=len(b), mean_a=float(a.mean()), mean_b=float(b.mean()),
        difference=difference, low=low, high=high, p_value=p_value, p_holm=math.nan, basis=basis,
        growth_a=growth_a, growth_b=growth_b, growth_difference=growth_b - growth_a, growth_low=growth.low,
        growth_high=growth.high, growth_p_value=growth.p_value, growth_p_holm=math.nan,
        is_judged=one.is_judged, state="not_enough_runs",
    )  # fmt: skip


def _growths(one: Courses) -> tuple[float, float, Change]:
    """Mean growth per minute on both sides, and the difference; NaN for what is no memory or has a single sample."""
    nothing = Change(math.nan, math.nan, math.nan, math.nan, "launches", np.empty(0), np.empty(0))
    if not one.is_memory or min(len(values) for side in (one.a, one.b) for values in side) < GROWTH_SAMPLES_MINIMUM:
        return math.nan, math.nan, nothing
    a, b = (np.array([60 * theil_sen_slope(values, one.interval_s) for values in side]) for side in (one.a, one.b))
    return float(a.mean()), float(b.mean()), _welch_of(a, b) if max(len(a), len(b)) > 1 else nothing


def _welch_of(a: Floats, b: Floats) -> Change:
    """Of means (r,) of runs; a side with one run counts with the scatter of the other."""
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
    state = _verdict([_state(p, difference, worse, level) for p, difference in tests if not math.isnan(p)])
    return SeriesDifference(**{**vars(one), "p_holm": of_mean, "growth_p_holm": of_growth, "state": state})


def _state(p_holm: float, difference: float, worse: Worse, level: float) -> State:
    if p_holm > level:
        return "normal"
    return "changed" if worse == "either" else "anomalous" if (difference > 0) == (worse == "more") else "improved"


def _verdict(states: Sequence[State]) -> State:
    order: tuple[State, ...] = ("anomalous", "improved", "changed", "normal")
    return next((state for state in order if state in states), "not_enough_runs")
