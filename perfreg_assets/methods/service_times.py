"""Response times of services: statistics, the slowest calls, and response time and throughput by window of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
        calls_per_s: throughput over the time that the log covers of the window; None where it covers none, or where
            all calls in it end the log.
    """

    service: str
    window_index: int
    start_ms: int
    call_count: int
    calls_per_s: float | None
    mean_ms: float | None
    max_ms: float | None


@dataclass(frozen=True)
class TimeWindows:
    """Attributes:
    windows: by service, then by time.
    outside_count: calls of services whose time is so far from that of the others that no window counts them.
    """

    windows: list[TimeWindow]
    outside_count: int


def time_windows(trees: CallTrees, window_s: float = WINDOW_S) -> TimeWindows:
    """Response time and throughput of every service by window, counted from the log's first call.

    A call counts where its line's time lies. Where they would make more than MAX_WINDOWS, the stretch of time that
    holds the most calls and makes no more is told. The log ends with its last call, so that the last window covers the
    time up to it, and its rate is that of the calls before it.

    Raises:
        ValueError: a window of no length.
    """
    if not window_s > 0:
        raise ValueError(f"a window is longer than 0 s, not {window_s:g} s")
    is_timed = trees.trees.time_ms != NO_TIME
    is_told = ~trees.trees.is_orphan & is_timed
    if not is_told.any():
        return TimeWindows([], 0)
    width = window_s * 1000.0
    reach = width * max(MAX_WINDOWS // len(trees.services), 1)
    start = _fullest_start(trees.trees.time_ms[is_told], reach)
    is_inside = is_timed & (trees.trees.time_ms >= start) & (trees.trees.time_ms < start + reach)
    last = int(trees.trees.time_ms[is_inside].max())
    outside_count = int(np.count_nonzero(is_told & ~is_inside))
    is_told &= is_inside
    times, services = trees.trees.time_ms[is_told], trees.trees.service[is_told]
    elapsed = trees.trees.elapsed_ms[is_told]
    index = ((times - start) // width).astype(np.int64)
    count = int(index.max()) + 1
    cell = services.astype(np.int64) * count + index
    cells = len(trees.services) * count
    calls = np.bincount(cell, minlength=cells)
    before_last = np.bincount(cell[times < last], minlength=cells)
    sums = np.bincount(cell, weights=elapsed, minlength=cells)
    largest = np.zeros(cells)
    np.maximum.at(largest, cell, elapsed)
    is_called = calls.reshape(len(trees.services), count).sum(axis=1) > 0
    covered_s = np.clip((last - start) / 1000.0 - np.arange(count) * window_s, 0.0, window_s)
    windows = [
        TimeWindow(
            trees.services[at // count],
            at % count,
            start + round(at % count * width),
            int(calls[at]),
            _rate(int(calls[at]), int(before_last[at]), float(covered_s[at % count])),
            float(sums[at] / calls[at]) if calls[at] else None,
            float(largest[at]) if calls[at] else None,
        )
        for at in range(cells)
        if is_called[at // count]
    ]
    return TimeWindows(windows, outside_count)


def _rate(calls: int, before_last: int, covered_s: float) -> float | None:
    """Calls per second; not known of no time, and of calls that all end the log: no time is known that follows them."""
    if covered_s == 0 or (calls and not before_last):
        return None
    return before_last / covered_s


def _fullest_start(times: NDArray[np.int64], reach: float) -> int:
    """The first of the times (n,) from which on `reach` holds the most of them; of equal ones the earliest."""
    ordered = np.sort(times)
    held = np.searchsorted(ordered, ordered + reach) - np.arange(len(ordered))
    return int(ordered[np.argmax(held)])
