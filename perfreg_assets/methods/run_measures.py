"""The few numbers that detector `default` tells a run by, beside one history whose own numbers are computed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from perfreg_assets.methods.dtw import align
from perfreg_assets.methods.features import (
    RESOLUTION,
    Scale,
    centred,
    levels_and_changes,
    log_memory,
    quantile_range,
    startup_samples,
)
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.knn import distances_to, distances_within, nearest_mean, radius_of

MEMORY_RESOLUTION = 1e-3  # a thousandth is no difference


@dataclass(frozen=True)
class Component:
    """One number per run: `known` (k,) of the history, `judged` (t,) of the targets.

    `sign` +1: larger is more load; 0: larger is more unusual in either direction.
    """

    known: Floats
    judged: Floats
    weight: float
    sign: int


class Measures(Protocol):
    """What runs are told by, beside one history, whose own numbers are computed once.

    Attributes:
        tells_levels: whether the level is the logarithm of an amount, so that its difference is a ratio.
    """

    tells_levels: bool

    def of(self, judged: list[Floats]) -> tuple[list[Component], Component]:
        """The components of runs, t of (n_i,), the first of them the distance; and their level."""
        ...

    def expected(self, values: Floats) -> Floats:
        """(n,) what is usual at the places of a run, unit of the series."""
        ...


class CourseMeasures:
    """How near a run's course is to those of the history; see `Measures`."""

    tells_levels = False

    def __init__(self, known: list[Floats], scale: Scale) -> None:
        self._known, self._scale, self._heights = known, scale, scale.heights(known)
        self._channels = [levels_and_changes(scale, values) for values in known]
        self._both = _Distances(self._channels, RESOLUTION, weight=1.0)
        self._levels = _Distances([_first_channel(values) for values in self._channels], RESOLUTION, weight=0.5)

    def of(self, judged: list[Floats]) -> tuple[list[Component], Component]:
        """Of runs, t of (n_i,)."""
        channels = [levels_and_changes(self._scale, values) for values in judged]
        components = [self._both.of(channels), self._levels.of([_first_channel(values) for values in channels])]
        return components, Component(self._heights, self._scale.heights(judged), 1.0, +1)

    def expected(self, values: Floats) -> Floats:
        """(n,) the median of what the history had where it is aligned with each sample."""
        channels = levels_and_changes(self._scale, values)
        radius = radius_of([*self._known, values])
        aligned = [
            known[align(channels, other, radius=radius).first_index]
            for known, other in zip(self._known, self._channels, strict=True)
        ]
        return np.median(aligned, axis=0)


class MemoryMeasures:
    """How a run's memory grows, lies and ranges beside the history's; see `Measures`."""

    tells_levels = True

    def __init__(self, known: list[Floats], interval_s: float) -> None:
        self._interval_s = interval_s
        logs = self._logs(known)
        self._growth = _Distances([centred(values) for values in logs], MEMORY_RESOLUTION, weight=1.0)
        self._level = _Distances(logs, MEMORY_RESOLUTION, weight=0.5)
        self._ranges, self._heights = _log_ranges(logs), _heights(logs)

    def of(self, judged: list[Floats]) -> tuple[list[Component], Component]:
        """Of runs, t of (n_i,)."""
        logs = self._logs(judged)
        components = [
            self._growth.of([centred(values) for values in logs]),
            self._level.of(logs),
            Component(self._ranges, _log_ranges(logs), 1.0, +1),
        ]
        return components, Component(self._heights, _heights(logs), 1.0, +1)

    def expected(self, values: Floats) -> Floats:
        """(n,) the run's own median: memory stays where it is."""
        return np.full(len(values), np.median(values))

    def _logs(self, runs: list[Floats]) -> list[Floats]:
        return [log_memory(values)[startup_samples(len(values), self._interval_s) :] for values in runs]


class _Distances:
    """Distances to the nearest runs of a history; its own ones leave the run itself out."""

    def __init__(self, known: list[Floats], resolution: float, *, weight: float) -> None:
        self._known, self._resolution, self._weight = known, resolution, weight
        self._own = np.log(nearest_mean(distances_within(known)) + resolution)

    def of(self, judged: list[Floats]) -> Component:
        others = np.array([nearest_mean(distances_to(self._known, values)) for values in judged])
        return Component(self._own, np.log(others + self._resolution), self._weight, 0)


def _first_channel(values: Floats) -> Floats:
    return np.ascontiguousarray(values[:, 0])


def _log_ranges(logs: list[Floats]) -> Floats:
    return np.log(np.array([quantile_range(values) for values in logs]) + MEMORY_RESOLUTION)


def _heights(logs: list[Floats]) -> Floats:
    return np.array([np.quantile(values, 0.95) for values in logs])
