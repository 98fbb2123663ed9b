"""Regressions to inject into a normal run, as the thesis does by hand (5.1): leaks and extra load of any size.

All begin at an onset after the start and last to the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from perfreg_assets.methods.inputs import Floats

PERIOD_S, BUSY_S = 20.0, 4.0
"""Of periodic load: every 20 s for 4 s."""
BURSTS = 6
TEETH = 3
_SECONDS_PER_MINUTE = 60.0

Resource = Literal["memory", "load"]


@dataclass(frozen=True)
class Injection:
    """A kind of regression.

    Attributes:
        resource: what it uses; memory: sizes are in MB/min, load: in percent of the run's core-seconds.
        shape: (number of samples after the onset, seconds between samples, generator) → (n,): of memory the seconds
            that have leaked and were not freed, of load the weights of where it lies.
    """

    name: str
    summary: str
    resource: Resource
    shape: Callable[[int, float, np.random.Generator], Floats]

    @property
    def unit(self) -> str:
        """Of sizes."""
        return "MB/min" if self.resource == "memory" else "% of core-seconds"

    def extra(
        self, count: int, total: float, size: float, interval_s: float, *, onset: int, draw: np.random.Generator
    ) -> Floats:
        """What is added to each of `count` samples, (count,): bytes, or cores.

        Args:
            total: sum of the samples of what the app uses without it; of load only.
            onset: the first sample that may be changed.

        Raises:
            ValueError: the onset is not inside the run.
        """
        if not 0 <= onset < count:
            raise ValueError(f"onset = {onset}: the run has {count} samples")
        shape = self.shape(count - onset, interval_s, draw)
        added = np.zeros(count)
        if self.resource == "memory":
            added[onset:] = size * 1e6 / _SECONDS_PER_MINUTE * shape
        else:
            added[onset:] = size / 100 * total * shape / shape.sum()
        return added


def _linear(count: int, interval_s: float, draw: np.random.Generator) -> Floats:
    seconds: Floats = np.arange(count, dtype=np.float64) * interval_s
    return seconds


def _sawtooth(count: int, interval_s: float, draw: np.random.Generator) -> Floats:
    """All is freed at each third."""
    tooth = max(1, -(-count // TEETH))
    seconds: Floats = (np.arange(count) % tooth).astype(np.float64) * interval_s
    return seconds


def _constant(count: int, interval_s: float, draw: np.random.Generator) -> Floats:
    return np.ones(count)


def _periodic(count: int, interval_s: float, draw: np.random.Generator) -> Floats:
    return ((np.arange(count) * interval_s) % PERIOD_S < BUSY_S).astype(np.float64)


def _bursts(count: int, interval_s: float, draw: np.random.Generator) -> Floats:
    weights, length = np.zeros(count), max(1, round(BUSY_S / interval_s))
    for begin in draw.integers(0, max(1, count - length + 1), BURSTS):
        weights[begin : begin + length] = 1.0
    return weights


INJECTIONS = {
    one.name: one
    for one in (
        Injection("leak", "a leak, steady from its onset on", "memory", _linear),
        Injection("sawtooth", "a leak that is freed twice", "memory", _sawtooth),
        Injection("load", "the same extra load all the time", "load", _constant),
        Injection("periodic load", "extra load for 4 s in every 20 s", "load", _periodic),
        Injection("bursts", "six bursts of 4 s", "load", _bursts),
    )
}
