"""Method traces of ART (`Debug.startMethodTracing`, `am profile start`): which Java method took how long, and when."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from perfreg_assets.methods.nesting import Calls, nest
from perfreg_assets.methods.thread_times import entity_name
from perfreg_assets.traces.art_blocks import read_blocks
from perfreg_assets.traces.art_trace import (
    CUT,
    ENTRY,
    MAGIC,
    SUMMARY_MAGIC,
    THREAD_CPU,
    UNWIND,
    ArtTrace,
    damaged,
    read_records,
    version_of,
)  # fmt: skip
from perfreg_assets.traces.slices import SLICE_SCHEMA, Nested, Range, SliceTimes, merged, numbered_paths, rows_of_range

Owner = Callable[[int], tuple[bool, str, str]]
"""Number of a thread → whose it is, see `Names.thread`."""
_OF_BLOCKS = (4, 5)
_UNKNOWN = "?"
WALL_TIME = "wall"


def method_times(content: bytes, name: str, app: str, ranges: Sequence[Range]) -> tuple[SliceTimes, Range, str]:
    """Self times of methods within each range, from when to when the trace tells of them, and by which clock.

    The rows are as those of slices, all of them of the app; `path` goes from the outermost method to the one that ran.
    By the wall's clock (`wall`, `dual`) time that a method waits is its own. The clock `thread-cpu` tells how much of a
    core each method took, and not when: every second of the trace has an equal share of it.

    Args:
        content: the whole file, unpacked. name: of the file, for messages.
        ranges: on the monotonic clock, ns.

    Raises:
        Rejected: PROFILE_DAMAGED.
    """
    trace = read_art_trace(content, name)
    if not trace.thread.size:
        raise damaged(name, "has no record of a method")
    if (trace.action > UNWIND).any():
        raise damaged(name, "has a record that is neither an entry nor an exit: record it again")
    calls = _calls(trace)
    found = _nested(trace, calls)
    is_cpu = trace.summary.clock == THREAD_CPU

    def owner(thread: int) -> tuple[bool, str, str]:
        return True, entity_name(app), entity_name(trace.threads.get(thread))

    if is_cpu:
        covered = trace.start_ns, trace.start_ns + _elapsed(trace, name)
        parts, clipped = _shares(found, covered, ranges, owner)
    else:
        covered = trace.start_ns + int(trace.at_ns.min()), trace.start_ns + int(trace.at_ns.max())
        parts, clipped = _placed(found, ranges, owner)
    return SliceTimes(merged(parts), clipped), covered, THREAD_CPU if is_cpu else WALL_TIME


def read_art_trace(content: bytes, name: str) -> ArtTrace:
    """A file of any version.

    Args:
        content: the whole file, unpacked. name: of the file, for messages.

    Raises:
        Rejected: PROFILE_DAMAGED.
    """
    try:
        if content.startswith(SUMMARY_MAGIC):
            return read_records(content, name)
        if not content.startswith(MAGIC):
            raise damaged(name, "is no method trace of ART")
        version = version_of(content, name)
        if version in _OF_BLOCKS:
            return read_blocks(content, version, name)
        if 1 <= version < _OF_BLOCKS[0]:
            return read_records(content, name)
    except (struct.error, IndexError) as error:
        raise damaged(name, CUT) from error
    raise damaged(name, f"is of version {version} of ART's method traces; versions 1 to {_OF_BLOCKS[-1]} are read")


def _calls(trace: ArtTrace) -> Calls:
    """Those that did not end last as long as the trace tells of their thread, or by the wall's clock of any."""
    order = np.argsort(trace.thread, kind="stable")
    numbers, first = np.unique(trace.thread[order], return_index=True)
    of_each = np.maximum.reduceat(trace.at_ns[order], first)
    ends = of_each if trace.summary.clock == THREAD_CPU else np.full_like(of_each, trace.at_ns.max())
    last = dict(zip(numbers.tolist(), ends.tolist(), strict=True))
    return nest(trace.thread, trace.method, trace.action == ENTRY, trace.at_ns, last)


def _nested(trace: ArtTrace, calls: Calls) -> Nested:
    numbers, place = np.unique(calls.method, return_inverse=True)
    texts = np.array([trace.methods.get(number, _UNKNOWN) for number in numbers.tolist()], dtype=object)
    code, paths = numbered_paths(calls.depth, calls.parent, texts[place], calls.thread)
    return Nested(trace.start_ns + calls.start, trace.start_ns + calls.end, calls.parent, code, paths)


def _elapsed(trace: ArtTrace, name: str) -> int:
    elapsed = trace.summary.elapsed_ns
    if not elapsed:
        raise damaged(name, "tells times of its threads by the clock thread-cpu, and not how long was traced")
    return elapsed


def _placed(found: Nested, ranges: Sequence[Range], owner: Owner) -> tuple[list[pa.Table], int]:
    """Rows of each range, and how many calls were clipped."""
    parts, clipped = [], 0
    for member, (lo, hi) in enumerate(ranges):
        inside = np.flatnonzero((found.start_ns < hi) & ((found.end_ns > lo) | (found.start_ns >= lo)))
        if lo >= hi or not inside.size:
            continue
        rows, more = rows_of_range(_part(found, inside), member, (lo, hi), owner)
        parts.append(rows)
        clipped += more
    return parts, clipped


def _part(found: Nested, inside: np.ndarray) -> Nested:
    """Some of the calls; with each that lasted, those around it are among them."""
    place = np.full(found.parent.size + 1, -1, np.int64)
    place[inside] = np.arange(inside.size)
    return Nested(
        found.start_ns[inside], found.end_ns[inside], place[found.parent[inside]], found.code[inside], found.paths
    )


def _shares(found: Nested, covered: Range, ranges: Sequence[Range], owner: Owner) -> tuple[list[pa.Table], int]:
    """Of what all of the trace took, each range's share by time, rows of which begin nothing in particular."""
    first, last = covered
    everything = int(found.start_ns.min(initial=first)), int(found.end_ns.max(initial=first)) + 1
    rows, clipped = rows_of_range(found, 0, everything, owner)
    parts = []
    for member, (lo, hi) in enumerate(ranges):
        share = max(min(hi, last) - max(lo, first), 0) / (last - first)
        if share and rows.num_rows:
            columns = dict(zip(SLICE_SCHEMA.names, rows.columns, strict=True))
            columns["range"] = pa.array([member] * rows.num_rows, pa.int32())
            columns["self_s"] = pc.multiply(rows.column("self_s"), share)
            columns["count"] = pa.array([0] * rows.num_rows, pa.int64())
            parts.append(pa.table(columns, schema=SLICE_SCHEMA))
    return parts, clipped
