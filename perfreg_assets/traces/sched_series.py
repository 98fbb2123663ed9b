"""Series from the scheduler: who was on which core and when."""

from __future__ import annotations

import numpy as np

from perfreg_assets.catalogue import definition_of
from perfreg_assets.traces.core_pieces import CorePieces
from perfreg_assets.traces.frequency import Clock
from perfreg_assets.traces.grid import BLOCK, Grid, Series, add_up
from perfreg_assets.traces.scope import Scope

_CYCLES_PER_KHZ_NS = 1e-6
_CYCLES = ("cycles_app", "cycles_total")
_NO_SCHED = "the trace has no scheduling events (sched/sched_switch)"


def sched_series(scope: Scope) -> list[Series]:
    """CPU use and cycles, of the app and of all, in total and per core; number of the app's threads that ran.

    The idle task is not CPU use. `threads_running_app` counts the different threads of the app that were on a core at
    any time in the interval (their summed time is `cpu_app`).
    """
    grid = scope.grid
    if not scope.contents.sched.count:
        return [
            *(grid.missing(name, _NO_SCHED) for name in ("cpu_app", "cpu_total")),
            *(grid.missing(name, _NO_SCHED) for name in _CYCLES),
            grid.missing("threads_running_app", _NO_SCHED),
        ]
    cores = scope.cores
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


def _cycles(cores: CorePieces, grid: Grid, clocks: dict[int, Clock] | str) -> list[Series]:
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


def _distinct_threads(cores: CorePieces, grid: Grid) -> np.ndarray:
    width = int(cores.utid.max(initial=0)) + 1
    found = [np.empty(0, np.int64)]
    for first in range(0, cores.utid.size, BLOCK):
        part = slice(first, first + BLOCK)
        is_app = cores.is_app[part]
        found.append(np.unique(cores.pieces.bin[part][is_app] * width + cores.utid[part][is_app]))
    return np.bincount(np.unique(np.concatenate(found)) // width, minlength=grid.count)


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
