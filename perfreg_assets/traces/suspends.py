"""When the device slept: the boot clock, by which traces are told, goes on, and nothing runs.

No event says when a core went to sleep with a thread on it: by the scheduler that thread ran all night. What is known
is by how much the boot clock went ahead of the monotonic one between two snapshots of both, and that a device that
sleeps tells nothing: so it slept in the longest silences between them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.traces.engine import TraceSession
from perfreg_assets.traces.statements import statement
from perfreg_assets.traces.trace_clock import BOOT, MONOTONIC, SUSPENDED_NS

Times = NDArray[np.int64]
Asleep = tuple[Times, Times]
"""[begin, end) of every sleep, ascending."""
AWAKE: Asleep = (np.empty(0, np.int64), np.empty(0, np.int64))
"""All along."""
_SCHEMA = {"trace_ns": "int64", "boot_ns": "int64", "monotonic_ns": "int64"}


def suspends(session: TraceSession, told: Times) -> Asleep:
    """When the device slept.

    Args:
        told: (n,) moments at which the trace tells anything of a core, in any order.

    Raises:
        Rejected: ENGINE_…
    """
    rows = session.query(statement("boot_and_monotonic", boot=BOOT, monotonic=MONOTONIC), _SCHEMA)
    return silences(rows["trace_ns"], rows["boot_ns"], rows["monotonic_ns"], told)


def silences(trace_ns: Times, boot_ns: Times, monotonic_ns: Times, told: Times) -> Asleep:
    """The longest silences between snapshots, as long in all as the device slept between them.

    Args:
        trace_ns, boot_ns, monotonic_ns: (snapshots,) what the trace's and both clocks showed, ascending.
        told: (n,) moments of events.
    """
    by_clocks = np.diff(boot_ns) - np.diff(monotonic_ns)
    # A trace that is told by the monotonic clock has no such time in it.
    slept = np.minimum(by_clocks, np.diff(trace_ns) - np.diff(monotonic_ns))
    begins, ends = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    moments = np.unique(told)
    for place in np.flatnonzero(slept > SUSPENDED_NS).tolist():
        first, last = trace_ns[place], trace_ns[place + 1]
        lo, hi = np.searchsorted(moments, [first, last], side="right")
        borders = np.concatenate([[first], moments[lo:hi], [last]])
        lengths = np.diff(borders)
        order = np.argsort(-lengths, kind="stable")
        before = np.cumsum(lengths[order]) - lengths[order]
        taken = np.clip(slept[place] - before, 0, lengths[order])
        begins.append(borders[order][taken > 0])
        ends.append(borders[order][taken > 0] + taken[taken > 0])
    begin, end = np.concatenate(begins), np.concatenate(ends)
    order = np.argsort(begin, kind="stable")
    return begin[order], end[order]


def awake_parts(start: Times, end: Times, asleep: Asleep) -> tuple[NDArray[np.intp], Times, Times]:
    """Stretches [start, end) without the time in which the device slept; one that spans a sleep is cut in two.

    Args:
        start, end: (n,) of the stretches; an empty one is kept unless it lies in a sleep.
        asleep: [begin, end) each (m,), ascending.

    Returns:
        (row, start, end), each (parts,), in order of row and then of time.
    """
    begin, until = asleep
    # Between sleep k - 1 and sleep k the device is awake; before the first and after the last without end.
    first = np.searchsorted(until, start, side="right")
    last = np.maximum(np.searchsorted(begin, end, side="left"), first)
    count = last - first + 1
    row = np.repeat(np.arange(start.size), count)
    place = first[row] + np.arange(row.size) - np.repeat(np.cumsum(count) - count, count)
    lowest, highest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    low = np.maximum(start[row], np.append(lowest, until)[place])
    high = np.minimum(end[row], np.append(begin, highest)[place])
    kept = (low < high) | ((start == end)[row] & (low == high))
    return row[kept], low[kept], high[kept]
