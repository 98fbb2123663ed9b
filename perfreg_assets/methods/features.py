"""What is compared about a series: scales on which normal runs scatter evenly, and numbers people understand.

CPU load is a sum of short bursts: its spread grows with its level, so plain differences are ruled by the few tallest
bursts. On the logarithm of (1 + load / typical load) a burst of any height counts alike; with the differences from
sample to sample as a second channel, the shape of a burst counts as well as its height (derivative DTW, Keogh &
Pazzani 2001). Memory counts as a ratio; relative to the run's own lower quartile, the offset that differs from run to
run by chance falls out and growth remains. Any other level (frames, temperature) may fall as well as rise, so its scale
is the same in both directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from perfreg_assets.catalogue import Kind
from perfreg_assets.methods.inputs import Floats

STARTUP_S = 15.0  # process start and first screen; differs in any two runs
LARGEST_STARTUP_SHARE = 0.2
SLOPE_BIN_S = 10.0
CHANGE_WEIGHT = 2.0  # of squared differences beside squared levels
RESOLUTION = 0.01  # differences below a hundredth of what is typical are none
SMALLEST_LEVEL_SHARE = 0.01  # of a level: nothing scatters by less
SMALLEST_MEMORY_SHARE = 1e-3  # below a thousandth of its own median a reading is a gap, not a size


def startup_samples(length: int, interval_s: float) -> int:
    """Samples at the start that are left out: 15 s, of a short run at most a fifth."""
    return int(min(round(STARTUP_S / interval_s), LARGEST_STARTUP_SHARE * length))


class Scale(Protocol):
    """The scale on which the courses of a kind of series are compared."""

    def levels(self, values: Floats) -> Floats:
        """(n,) → (n,), no unit."""
        ...

    def heights(self, runs: Sequence[Floats]) -> Floats:
        """(k,) of k runs: how high each lies as a whole, no unit."""
        ...


@dataclass(frozen=True)
class LoadScale:
    """The generalised logarithm log(1 + (x - low) / typical); both from the pooled history, unit of the series."""

    low: float
    typical: float

    @classmethod
    def of(cls, history: Sequence[Floats]) -> LoadScale:
        """From the history's runs, k of (n_i,)."""
        pool = np.concatenate(history)
        low, median, high = (float(value) for value in np.quantile(pool, [0.05, 0.5, 1.0]))
        # Mostly idle apps have a median at the floor: a quarter of the mean load stands in, or something above 0.
        typical = max(median - low, 0.25 * (float(pool.mean()) - low), 1e-3 * (high - low), 1e-9)
        return cls(low, typical)

    def levels(self, values: Floats) -> Floats:
        """(n,), no unit."""
        return np.log1p(np.maximum(values - self.low, 0.0) / self.typical)

    def heights(self, runs: Sequence[Floats]) -> Floats:
        """(k,) logarithm of the mean load."""
        return np.log(np.array([max(run.mean() - self.low, 0.0) for run in runs]) + RESOLUTION * self.typical)


@dataclass(frozen=True)
class LevelScale:
    """arsinh((x - median) / typical) of the pooled history, unit of the series: falling counts as much as rising."""

    median: float
    typical: float

    @classmethod
    def of(cls, history: Sequence[Floats]) -> LevelScale:
        """From the history's runs, k of (n_i,)."""
        pool = np.concatenate(history)
        median = float(np.median(pool))
        size = np.abs(pool - median)
        # What hardly ever changes has no typical deviation: a quarter of the mean one stands in, or 1 % of the level.
        floor = max(1e-3 * float(size.max()), SMALLEST_LEVEL_SHARE * abs(median), 1e-9)
        return cls(median, max(float(np.median(size)), 0.25 * float(size.mean()), floor))

    def levels(self, values: Floats) -> Floats:
        """(n,), no unit."""
        return np.arcsinh((values - self.median) / self.typical)

    def heights(self, runs: Sequence[Floats]) -> Floats:
        """(k,) of the runs' means."""
        return self.levels(np.array([run.mean() for run in runs]))


def scale_of(kind: Kind, history: Sequence[Floats]) -> Scale:
    """The scale of a series without memory's growth, from the history's runs, k of (n_i,)."""
    return LevelScale.of(history) if kind == "level" else LoadScale.of(history)


def levels_and_changes(scale: Scale, values: Floats) -> Floats:
    """(n,) → (n, 2): level, weighted change since the sample before."""
    levels = scale.levels(values)
    return np.column_stack([levels, np.sqrt(CHANGE_WEIGHT) * np.diff(levels, prepend=levels[:1])])


def log_memory(values: Floats) -> Floats:
    """Natural logarithm of memory (n,); gaps and zeros count as a thousandth of the median."""
    floor = max(SMALLEST_MEMORY_SHARE * float(np.median(values)), 1.0)
    return np.log(np.maximum(values, floor))


def centred(log_values: Floats) -> Floats:
    """(n,) relative to the run's own lower quartile, same unit."""
    return log_values - np.quantile(log_values, 0.25)


def quantile_range(values: Floats) -> float:
    """95 % quantile minus 25 % quantile of (n,), same unit: growth and sawtooth alike, blind to the run's offset."""
    low, high = np.quantile(values, [0.25, 0.95])
    return float(high - low)


def theil_sen_slope(values: Floats, interval_s: float) -> float:
    """Median slope between all pairs of 10-s medians of a series (n,), unit per second (Theil 1950, Sen 1968)."""
    width = max(1, round(SLOPE_BIN_S / interval_s))
    count = len(values) // width
    if count < 3:
        width, count = max(1, len(values) // 3), min(3, len(values))
    points = np.median(values[: count * width].reshape(count, width), axis=1)
    if count < 2:
        return 0.0
    times = np.arange(count) * (width * interval_s)
    # As scipy.stats.theilslopes says, without a third of a second for loading it in every process.
    earlier, later = np.triu_indices(count, 1)
    return float(np.median((points[later] - points[earlier]) / (times[later] - times[earlier])))
