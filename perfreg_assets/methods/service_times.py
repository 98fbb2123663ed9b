"""Response times of services: statistics, the slowest calls, and response time and throughput by window of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfreg_assets.methods.call_trees import CallTrees
from perfreg_assets.methods.line_fields import NO_TIME

SLOWEST = 10
WINDOW_S = 60.0
MAX_WINDOWS = 100_000
"""More windows than this in a log are a time in the log that is wrong by years."""


@dataclass(frozen=True)
class ServiceTimes:
    """Response times of a service's calls, orphans left out; std is the population's.

    Attributes:
        tree_count: how many different call trees its calls have.
    """

    service: str
    call_count: int
    min_ms: float
    mean_ms: float
    max_ms: float
    std_ms: float
    tree_count: int


def service_times(trees: CallTrees) -> list[ServiceTimes]:
    """Of every service that was called, by name."""
    found = []
    for number, service in enumerate(trees.services):
        is_own = (trees.trees.service == number) & ~trees.trees.is_orphan
        times = trees.trees.elapsed_ms[is_own]
        if len(times):
            different = len(np.unique(trees.trees.identity[is_own]))
            low, mean, high, std = (float(of(times)) for of in (np.min, np.mean, np.max, np.std))
            found.append(ServiceTimes(service, len(times), low, mean, high, std, different))
    return found


@dataclass(frozen=True)
class SlowCall:
    """One call of a service. `time_ms` is since 1970, as the log's clock showed it; None where the log has no time."""

    rank: int
    service: str
    transaction: str
    elapsed_ms: float
    time_ms: int | None


def slowest_calls(trees: CallTrees, count: int = SLOWEST) -> list[SlowCall]:
    """The calls of services that took longest, one by one; equal ones by transaction."""
    rows = np.flatnonzero(~trees.trees.is_orphan)
    order = rows[np.lexsort((trees.trees.transaction[rows], -trees.trees.elapsed_ms[rows]))][:count]
    return [
        SlowCall(
            rank,
            trees.services[trees.trees.service[row]],
            trees.transactions[trees.trees.transaction[row]],
            float(trees.trees.elapsed_ms[row]),
            None if trees.trees.time_ms[row] == NO_TIME else int(trees.trees.time_ms[row]),
        )
        for rank, row in enumerate(order.tolist(), 1)
    ]


@dataclass(frozen=True)
class TimeWindow:
    """A service in a window of time; windows in which it was not called have a count of 0 and no times.

    Attributes:
        start_ms: since 1970, as the log's clock showed it.
        calls_per_s: throughput.
    """

    service: str
    window_index: int
    start_ms: int
    call_count: int
    calls_per_s: float
    mean_ms: float | None
    max_ms: float | None


def time_windows(trees: CallTrees, window_s: float = WINDOW_S) -> list[TimeWindow]:
    """Response time and throughput of every service by window, counted from the log's first call.

    A call counts where its line's time lies. Nothing without times, or when they would make more than MAX_WINDOWS.

    Raises:
        ValueError: a window of no length.
    """
    if not window_s > 0:
        raise ValueError(f"a window is longer than 0 s, not {window_s:g} s")
    is_timed = ~trees.trees.is_orphan & (trees.trees.time_ms != NO_TIME)
    if not is_timed.any():
        return []
    times, services = trees.trees.time_ms[is_timed], trees.trees.service[is_timed]
    elapsed = trees.trees.elapsed_ms[is_timed]
    start, width = int(times.min()), window_s * 1000.0
    index = ((times - start) // width).astype(np.int64)
    count = int(index.max()) + 1
    if count * len(trees.services) > MAX_WINDOWS:
        return []
    cell = services.astype(np.int64) * count + index
    cells = len(trees.services) * count
    calls = np.bincount(cell, minlength=cells)
    sums = np.bincount(cell, weights=elapsed, minlength=cells)
    largest = np.zeros(cells)
    np.maximum.at(largest, cell, elapsed)
    return [
        TimeWindow(
            trees.services[at // count],
            at % count,
            start + round(at % count * width),
            int(calls[at]),
            float(calls[at] / window_s),
            float(sums[at] / calls[at]) if calls[at] else None,
            float(largest[at]) if calls[at] else None,
        )
        for at in range(cells)
        if calls[at - at % count : at - at % count + count].any()
    ]
