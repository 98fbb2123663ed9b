"""What methods cost: slices of the app's threads put on the stretches in which these threads were on cores.

Of the cores alone, without shares of cluster and processor, which are of no single thread: so what methods take by
themselves adds up to no more than what their thread does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from perfreg_assets.methods.thread_times import REST
from perfreg_assets.traces.frequency import Clock
from perfreg_assets.traces.names import Names
from perfreg_assets.traces.power_series import Drawn
from perfreg_assets.traces.power_times import cluster_of
from perfreg_assets.traces.scope import Scope
from perfreg_assets.traces.slice_uses import NO_SLICES, app_slices, by_name

MOST_METHODS = 1000
"""Rows of a run; what took least by itself is one rest."""
_MICRO = 1000.0  # µA in a mA
_PER_MAS = 1e12  # µA·ns in a mA·s


@dataclass(frozen=True)
class MethodCharge:
    """mA·s of all slices of one name on threads of one name: with all that they called, and without."""

    process: str
    thread: str
    method: str
    call_count: int
    self_mas: float
    total_mas: float


class ThreadCharge:
    """What a thread's time on cores took so far, as a function of time, exactly: µA·ns, modulo 2^64."""

    def __init__(self, start: np.ndarray, end: np.ndarray, core: np.ndarray, clocks: Mapping[int, Clock]) -> None:
        """
        Args:
            start, end: (n,) int64 ns, n ≥ 1, in order of time and without overlaps: when it was on a core.
            core: (n,) which.
            clocks: of each core what it draws, in µA in place of kHz.
        """
        self._start, self._end, self._core, self._clocks = start, end, core, clocks
        self._before = np.append(0, np.cumsum(self._since_start(np.arange(len(start)), end)))

    def until(self, at: np.ndarray) -> np.ndarray:
        """(m,) at moments (m,) ns: meaningful as a difference of two."""
        piece = np.searchsorted(self._start, at, side="right") - 1
        inside = np.maximum(piece, 0)
        found: np.ndarray = self._before[inside] + self._since_start(inside, np.minimum(at, self._end[inside]))
        return np.where(piece < 0, 0, found)

    def _since_start(self, piece: np.ndarray, at: np.ndarray) -> np.ndarray:
        found = np.zeros(len(piece), np.int64)
        core = self._core[piece]
        for number in np.unique(core).tolist():
            here = core == number
            clock, own = self._clocks[number], piece[here]
            found[here] = clock.integral(at[here]) - clock.integral(self._start[own])
        return found


def method_charges(scope: Scope, found: Drawn) -> tuple[MethodCharge, ...] | str:
    """The app's methods over the scope's grid, all of them (see `most_of`), or why there are none.

    Raises:
        Rejected: ENGINE_…
    """
    slices = scope.once(app_slices)
    if slices is None or found.chosen is None:
        return NO_SLICES
    grid = scope.grid
    start, end = (np.clip(one, grid.start_ns, grid.end_ns) for one in (slices.start_ns, slices.end_ns))
    total = np.zeros(len(start), np.int64)
    utids = np.array([utid for utid, _ in slices.paths], np.int64)[slices.code]
    for utid, charge in _thread_charges(scope, found, np.unique(utids)).items():
        here = utids == utid
        total[here] = charge.until(end[here]) - charge.until(start[here])
    own = total.copy()
    is_child = slices.parent >= 0
    np.subtract.at(own, slices.parent[is_child], total[is_child])
    keys, numbers = by_name(slices, Names(scope.contents, scope.app))
    name = numbers[slices.code]
    begins = (slices.start_ns >= grid.start_ns) & (slices.start_ns < grid.end_ns)
    # Clocks may let a child exceed its parent by their noise.
    sums = [np.bincount(name, part, len(keys)) for part in (begins, np.maximum(own, 0) / _PER_MAS, total / _PER_MAS)]
    merged: dict[tuple[str, str, str], list[float]] = {}
    for k, (process, thread, method, is_outermost) in enumerate(keys):
        row = merged.setdefault((process, thread, method), [0, 0.0, 0.0])
        row[0] += int(sums[0][k])
        row[1] += float(sums[1][k])
        row[2] += float(sums[2][k]) if is_outermost else 0.0
    return tuple(MethodCharge(*key, int(row[0]), row[1], row[2]) for key, row in merged.items() if any(row))


def _thread_charges(scope: Scope, found: Drawn, utids: np.ndarray) -> dict[int, ThreadCharge]:
    """Of the threads that were on a core at all."""
    sched, clocks = scope.contents.sched, _drawn_by(found)
    lasts = (sched.end_ns > sched.start_ns) & np.isin(sched.utid, utids, kind="table")
    start, end, cpu, utid = (one[lasts] for one in (sched.start_ns, sched.end_ns, sched.cpu, sched.utid))
    order = np.lexsort([start, utid])
    start, end, cpu, utid = (one[order] for one in (start, end, cpu, utid))
    borders = [0, *(np.flatnonzero(np.diff(utid)) + 1).tolist(), len(utid)]
    return {
        int(utid[lo]): ThreadCharge(start[lo:hi], end[lo:hi], cpu[lo:hi], clocks)
        for lo, hi in pairwise(borders)
        if lo < hi
    }


def _drawn_by(found: Drawn) -> dict[int, Clock]:
    """What each core draws while it is busy, µA, in place of its frequency."""
    assert found.chosen is not None
    return {
        core: Clock(
            clock.ts,
            found.chosen.profile.charge_of(cluster_of(core, found.first_cores), clock.khz.astype(np.float64)) * _MICRO,
        )
        for core, clock in found.cores.clocks.items()
    }


def most_of(methods: Iterable[MethodCharge]) -> tuple[MethodCharge, ...]:
    """Those that took most by themselves first, and one rest of each process."""
    order = sorted(methods, key=lambda one: (-one.self_mas, one.process, one.thread, one.method))
    rests: dict[str, MethodCharge] = {}
    for one in order[MOST_METHODS:]:
        rest = rests.get(one.process, MethodCharge(one.process, REST, REST, 0, 0.0, 0.0))
        rests[one.process] = sum_of(rest, one)
    return (*order[:MOST_METHODS], *rests.values())


def sum_of(one: MethodCharge, other: MethodCharge) -> MethodCharge:
    """Both together, under the name of the first."""
    return replace(
        one,
        call_count=one.call_count + other.call_count,
        self_mas=one.self_mas + other.self_mas,
        total_mas=one.total_mas + other.total_mas,
    )
