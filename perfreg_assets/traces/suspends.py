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
_SCHEMA = {"trace_ns": "int64", "boot_ns": "int64", "monotonic_ns": "int64"}


def suspends(session: TraceSession, told: Times) -> tuple[Times, Times]:
    """When the device slept, [begin, end) each, ascending.

    Args:
        told: (n,) moments at which the trace tells anything of a core, in any order.

    Raises:
        Rejected: ENGINE_…
    """
    rows = session.query(statement("boot_and_monotonic", boot=BOOT, monotonic=MONOTONIC), _SCHEMA)
    return silences(rows["trace_ns"], rows["boot_ns"], rows["monotonic_ns"], told)


def silences(trace_ns: Times, boot_ns: Times, monotonic_ns: Times, told: Times) -> tuple[Times, Times]:
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


def awake_parts(
    start: Times, end: Times, cpu: Times, utid: Times, asleep: tuple[Times, Times]
) -> tuple[Times, Times, Times, Times]:
    """Slices (n,) without the time in which the device slept, in order of time: one that spans it is cut in two.

    Args:
        start, end, cpu, utid: of the slices, in order of time; those of a core do not overlap.
        asleep: [begin, end) each (m,), ascending, within which no slice begins or ends.
    """
    begin, until = asleep
    end = end.copy()
    added: list[tuple[Times, Times, Times, Times]] = []
    for core in np.unique(cpu).tolist():
        own = np.flatnonzero(cpu == core)
        place = np.searchsorted(start[own], begin, side="right") - 1
        spans = (place >= 0) & (end[own[place]] > begin)
        which, sleep = own[place[spans]], np.flatnonzero(spans)
        if not which.size:
            continue
        is_first = np.append(True, np.diff(which) > 0)
        is_last = np.append(is_first[1:], True)
        rest_end = np.where(is_last, end[which], np.append(begin[sleep][1:], 0))
        rest = rest_end > until[sleep]
        added.append((until[sleep][rest], rest_end[rest], cpu[which][rest], utid[which][rest]))
        end[which[is_first]] = begin[sleep][is_first]
    columns = [np.concatenate(own) for own in zip((start, end, cpu, utid), *added, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    start, end, cpu, utid = (column[order] for column in columns)
    return start, end, cpu, utid
