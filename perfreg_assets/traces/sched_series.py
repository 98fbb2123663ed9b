"""Series from the scheduler: who was on which core and when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfreg_assets.catalogue import definition_of
from perfreg_assets.traces.contents import SchedSlices
from perfreg_assets.traces.frequency import Clock
from perfreg_assets.traces.grid import Grid, Pieces, Series, add_up, split
from perfreg_assets.traces.scope import Scope

_CYCLES_PER_KHZ_NS = 1e-6
_CYCLES = ("cycles_app", "cycles_total")
_NO_SCHED = "the trace has no scheduling events (sched/sched_switch)"


@dataclass(frozen=True)
class _Cores:
    """Cores in order, and for every piece the index of its core and whether it is the app's."""

    numbers: np.ndarray
    pieces: Pieces
    core: np.ndarray
    is_app: np.ndarray
    utid: np.ndarray


def sched_series(scope: Scope) -> list[Series]:
    """CPU use and cycles, of the app and of all, in total and per core; number of the app's threads that ran.

    The idle task is not CPU use. `threads_running_app` counts the different threads of the app that were on a core at
    any time in the interval (their summed time is `cpu_app`).
    """
    slices, grid = scope.contents.sched, scope.grid
    if not slices.count:
        return [
            *(grid.missing(name, _NO_SCHED) for name in ("cpu_app", "cpu_total")),
            *(grid.missing(name, _NO_SCHED) for name in _CYCLES),
            grid.missing("threads_running_app", _NO_SCHED),
        ]
    cores = _cut(slices, grid, np.array(scope.utids, dtype=np.int64), scope.idle_utids)
    shape = (cores.numbers.size, grid.count)
    duration = cores.pieces.duration_ns
    total = add_up(duration, cores.core, cores.pieces.bin, shape)
    app = add_up(duration * cores.is_app, cores.core, cores.pieces.bin, shape)

    def cpu(name: str, sums: np.ndarray) -> Series:
        return grid.series(name, sums / grid.interval_ns)

    return [
        cpu("cpu_app", app.sum(axis=0)),
        cpu("cpu_total", total.sum(axis=0)),
        *(cpu(f"cpu_core_{number}", total[k]) for k, number in enumerate(cores.numbers)),
        *(cpu(f"cpu_app_core_{number}", app[k]) for k, number in enumerate(cores.numbers)),
        *_cycles(cores, grid, scope.clocks),
        grid.series("threads_running_app", _distinct_threads(cores, grid)),
    ]


def _cut(slices: SchedSlices, grid: Grid, app_utids: np.ndarray, idle_utids: np.ndarray) -> _Cores:
    numbers = slices.cores
    limit = slices.count + (grid.count + 1) * numbers.size
    pieces = split(slices.start_ns, slices.end_ns, grid, pieces_max=limit)
    utid = slices.utid[pieces.row]
    is_busy = ~_membership(utid, idle_utids)
    pieces = Pieces(*(part[is_busy] for part in (pieces.row, pieces.bin, pieces.start_ns, pieces.end_ns)))
    utid = utid[is_busy]
    core = np.searchsorted(numbers, slices.cpu[pieces.row])
    return _Cores(numbers, pieces, core, _membership(utid, app_utids), utid)


def _membership(utid: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """As np.isin, by a table: utids are small consecutive numbers."""
    table = np.zeros(int(max(utid.max(initial=0), wanted.max(initial=0))) + 1, dtype=bool)
    table[wanted] = True
    is_member: np.ndarray = table[utid]
    return is_member


def _cycles(cores: _Cores, grid: Grid, clocks: dict[int, Clock] | str) -> list[Series]:
    if isinstance(clocks, str):
        return [grid.missing(name, clocks) for name in _CYCLES]
    sums = np.zeros((2, grid.count), dtype=np.int64)
    for index, number in enumerate(cores.numbers):
        here = np.flatnonzero(cores.core == index)
        if here.size == 0:
            continue
        clock = clocks.get(int(number))
        if clock is None:
            return [grid.missing(name, f"core {number} ran without a recorded frequency") for name in _CYCLES]
        cycles = clock.integral(cores.pieces.end_ns[here]) - clock.integral(cores.pieces.start_ns[here])
        sums += add_up(cycles, 1 - cores.is_app[here].astype(np.int64), cores.pieces.bin[here], (2, grid.count))
    app, others = sums
    return [
        grid.series(name, amount * _CYCLES_PER_KHZ_NS / grid.interval_s)
        for name, amount in zip(_CYCLES, (app, app + others), strict=True)
    ]


def _distinct_threads(cores: _Cores, grid: Grid) -> np.ndarray:
    bins, utid = cores.pieces.bin[cores.is_app], cores.utid[cores.is_app]
    width = int(utid.max(initial=0)) + 1
    keys = np.sort(bins * width + utid)
    is_first = np.diff(keys, prepend=-1) != 0
    return np.bincount(keys[is_first] // width, minlength=grid.count)


def frequency_series(scope: Scope) -> list[Series]:
    """Mean frequency of each core over each interval, weighted by time."""
    grid, clocks = scope.grid, scope.clocks
    cores = sorted({*scope.contents.sched.cores.tolist(), *(clocks if isinstance(clocks, dict) else ())})
    out: list[Series] = []
    for number in cores:
        name = definition_of("cpu_freq_<n>").numbered(number)
        clock = clocks.get(number) if isinstance(clocks, dict) else None
        if clock is None:
            why = clocks if isinstance(clocks, str) else f"core {number} has no recorded frequency"
            out.append(grid.missing(name, why))
        else:
            out.append(grid.series(name, np.diff(clock.integral(grid.borders)) / grid.interval_ns))
    return out
