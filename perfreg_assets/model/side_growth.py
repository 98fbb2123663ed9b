"""What grew between two sides: threads, slices and call stacks of their runs, and why there are none where there are
none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from perfreg_assets.methods.side_growth import EntityDifference, entities_grown
from perfreg_assets.methods.slice_uses import SliceUses
from perfreg_assets.methods.thread_times import REST, RUNNING, ThreadTimes
from perfreg_assets.methods.window_causes import Entity
from perfreg_assets.model.sides import RunOfSide, Side

Source = Literal["threads", "slices", "stacks"]
SOURCES: tuple[Source, ...] = ("threads", "slices", "stacks")
State = Literal["compared", "missing_in_a", "missing_in_b", "missing"]
NO_THREADS = "the trace does not tell what its threads did"
NO_SECONDS = "the length of the run is not known"

Spent = Mapping[Entity, float] | str
"""Of one run: (core) seconds per second by entity, or why it does not tell."""


@dataclass(frozen=True)
class Grown:
    """Of one source.

    Attributes:
        state: `compared`, or the sides of which no run tells.
        reason: why not; None where it is compared.
        runs_a, runs_b: how many runs tell.
        rows: what takes more on the second side, the most first.
    """

    source: Source
    state: State
    reason: str | None
    runs_a: int
    runs_b: int
    rows: tuple[EntityDifference, ...] = ()


def what_grew(a: Side, b: Side) -> list[Grown]:
    """Of each source, in the order of `SOURCES`."""
    return [_of_source(source, a, b) for source in SOURCES]


def _of_source(source: Source, a: Side, b: Side) -> Grown:
    told, reasons = [], []
    for side in (a, b):
        spent = [_SPENT[source](run) for run in side.runs]
        told.append([one for one in spent if not isinstance(one, str)])
        reasons.append(next((one for one in spent if isinstance(one, str)), None))
    counts = len(told[0]), len(told[1])
    if all(told):
        return Grown(source, "compared", None, *counts, tuple(entities_grown(*told)))
    if not any(told):
        why = reasons[0] if reasons[0] == reasons[1] else f"A: {reasons[0]}; B: {reasons[1]}"
        return Grown(source, "missing", why, *counts)
    state: State = "missing_in_a" if not told[0] else "missing_in_b"
    return Grown(source, state, f"{state[-1].upper()}: {reasons[0] if not told[0] else reasons[1]}", *counts)


def _threads(run: RunOfSide) -> Spent:
    """All threads of a name that are told apart, in any process: they run where another one's work shows, too."""
    times = run.threads
    if times is None or not times.seconds.shape[1]:
        return NO_THREADS
    return _running(times)


def _running(times: ThreadTimes) -> dict[Entity, float]:
    sums: dict[Entity, float] = {}
    means = times.seconds.mean(axis=1)
    for process, thread, state, mean in zip(times.process, times.thread, times.state, means, strict=True):
        if state == RUNNING and REST not in (process, thread):
            one = Entity("thread", process, thread, thread)
            sums[one] = sums.get(one, 0.0) + float(mean)
    return sums


def _slices(run: RunOfSide) -> Spent:
    """Own time of the app's slices, waits within them included, over all screens."""
    uses = run.slices
    if isinstance(uses, str):
        return uses
    if run.seconds <= 0:
        return NO_SECONDS
    return _own_times(uses, run.seconds)


def _own_times(uses: SliceUses, seconds: float) -> dict[Entity, float]:
    sums: dict[Entity, float] = {}
    rates = np.asarray(uses.self_ns) / 1e9 / seconds
    for process, thread, name, rate in zip(uses.process, uses.thread, uses.slice, rates.tolist(), strict=True):
        if REST not in (process, thread, name):
            one = Entity("slice", process, thread, name)
            sums[one] = sums.get(one, 0.0) + rate
    return sums


def _stacks(run: RunOfSide) -> Spent:
    return run.stacks


_SPENT: Mapping[Source, Callable[[RunOfSide], Spent]] = {"threads": _threads, "slices": _slices, "stacks": _stacks}
