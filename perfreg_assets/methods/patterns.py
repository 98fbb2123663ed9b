"""How a difference runs over time, for words: bursts and their period, falls of memory, growth and its onset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfreg_assets.methods.calibration import predictive_score
from perfreg_assets.methods.features import centred, log_memory, startup_samples, theil_sen_slope
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.leak_onset import find_onset, median_course

BURST_QUANTILES = (
    0.999,
    0.99,
)  # of what the history does after start-up: tall bursts first, which nothing is mixed into
JOINED_S = 2.0  # bursts that are no further apart are one
CLEARLY_MORE = 2.33  # score: one normal run in a hundred has as many
SMALLEST_COUNT_SD = 1.0
FEWEST_REGULAR = 4  # events: fewer show no period
LARGEST_DEVIATION = 0.25  # of a time between two events from the median of them, as a share of it
REGULAR_SHARE = 0.8  # of the times between events
FALL_SHARE = 0.5  # of what memory ranges over
FALL_S = 3.0
SHORTEST_GROWTH_S = 20.0  # less of a run has no slope to tell


@dataclass(frozen=True)
class Bursts:
    """Attributes:
    count: stretches above `level`, in the unit of the series.
    low, high: fewest and most that a run of the history has.
    period_s: between their beginnings, where they are regular; else None.
    """

    count: int
    level: float
    low: int
    high: int
    period_s: float | None


def find_bursts(history: Sequence[Floats], target: Floats, interval_s: float) -> Bursts | None:
    """Bursts of load that the target (n,) has and its history, k of (n_i,), has not as many of; None without.

    All after their start-up, in the unit of the series.
    """
    for level in np.quantile(np.concatenate(history), BURST_QUANTILES):
        starts = _burst_starts(target, float(level), interval_s)
        known = np.array([len(_burst_starts(run, float(level), interval_s)) for run in history], dtype=np.float64)
        if len(starts) > known.max() and predictive_score(known, len(starts), SMALLEST_COUNT_SD) >= CLEARLY_MORE:
            period_s = period_of(starts * interval_s)
            return Bursts(len(starts), float(level), int(known.min()), int(known.max()), period_s)
    return None


def period_of(starts_s: Sequence[float] | Floats) -> float | None:
    """The time between events that begin at these seconds (n,), in order; None where they are few or not regular."""
    gaps = np.diff(np.asarray(starts_s, dtype=np.float64))
    if len(starts_s) < FEWEST_REGULAR:
        return None
    middle = float(np.median(gaps))
    is_near = np.abs(gaps - middle) <= LARGEST_DEVIATION * middle
    return middle if is_near.mean() >= REGULAR_SHARE else None


def _burst_starts(values: Floats, level: float, interval_s: float) -> Floats:
    above = np.flatnonzero(values > level)
    if not len(above):
        return above.astype(np.float64)
    is_first = np.diff(above, prepend=-len(values) - 1) * interval_s > JOINED_S
    return above[is_first].astype(np.float64)


def count_falls(values: Floats, height: float, interval_s: float) -> int:
    """How often memory (n,) falls by half of `height` (same unit) or more within 3 s: the teeth of a saw."""
    steps = max(1, round(FALL_S / interval_s))
    falls = np.zeros(len(values), dtype=bool)
    for step in range(1, min(steps, len(values) - 1) + 1):
        falls[step:] |= values[:-step] - values[step:] >= FALL_SHARE * height
    places = np.flatnonzero(falls)
    return int((np.diff(places, prepend=-steps - 1) > steps).sum())


@dataclass(frozen=True)
class Growth:
    """Attributes:
    onset_s: seconds since the start of the series.
    rate, low, high: growth from then on, of the target and the least and most of the history, unit of the series per s.
    """

    onset_s: float
    rate: float
    low: float
    high: float


def find_growth(history: Sequence[Floats], target: Floats, interval_s: float) -> Growth | None:
    """Since when the target (n,) grows more than any run of its history, k of (n_i,), and how much; None where it does
    not, or where too little of it is left to tell.

    Memory with its start-up, any unit.
    """
    courses = [_course(run, interval_s) for run in history]
    own = _course(target, interval_s)
    found = find_onset(own - median_course(courses, len(own), interval_s), interval_s, 0.0)
    first = len(target) - len(own) + found.first
    last = len(target) - int(SHORTEST_GROWTH_S / interval_s)
    if last < first:
        return None
    rate = theil_sen_slope(target[first:], interval_s)
    known = [theil_sen_slope(run[first:], interval_s) for run in history if len(run) - first >= len(target) - last]
    if not known or rate <= max(known):
        return None
    return Growth(first * interval_s, rate, min(known), max(known))


def _course(values: Floats, interval_s: float) -> Floats:
    return centred(log_memory(values)[startup_samples(len(values), interval_s) :])
