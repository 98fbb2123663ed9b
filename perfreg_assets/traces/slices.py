"""What threads told that they were doing, and frames, within some stretches of a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from perfreg_assets.methods.self_times import self_times
from perfreg_assets.methods.thread_times import SECOND_NS, entity_name
from perfreg_assets.traces.columns import Table
from perfreg_assets.traces.engine import TraceSession
from perfreg_assets.traces.locks import contention
from perfreg_assets.traces.names import Names
from perfreg_assets.traces.statements import statement

Range = tuple[int, int]
"""A stretch [start, end) of trace time, ns."""

SLICE_SCHEMA = pa.schema(
    [
        ("range", pa.int32()), ("is_app", pa.bool_()), ("process", pa.string()), ("thread", pa.string()),
        ("path", pa.list_(pa.string())), ("is_lock", pa.bool_()), ("self_s", pa.float64()), ("count", pa.int64()),
    ]
)  # fmt: skip
FRAME_SCHEMA = pa.schema(
    [
        ("range", pa.int32()), ("is_app", pa.bool_()), ("process", pa.string()), ("jank_type", pa.string()),
        ("total_s", pa.float64()), ("count", pa.int64()),
    ]
)  # fmt: skip
SLICE_COLUMNS = {
    "id": "int64", "ts": "int64", "dur": "int64", "name": "string", "depth": "int64", "parent_id": "Int64",
    "utid": "int64",
}  # fmt: skip
_FRAMES = {"ts": "int64", "dur": "int64", "upid": "Int64", "jank_type": "string"}
_Path = tuple[int, tuple[str, ...]]
"""utid, names from the outermost to the innermost."""

_MOST_RANGES = 60
"""Ranges asked for together: what overlaps them is held at once."""


@dataclass(frozen=True)
class Nested:
    """Slices (n,) of threads, parents before their children.

    Attributes:
        start_ns, end_ns: of each slice; the trace's end for one that did not end.
        parent: position of the parent, -1 without one.
        code: number of each slice's path in `paths`.
    """

    start_ns: np.ndarray
    end_ns: np.ndarray
    parent: np.ndarray
    code: np.ndarray
    paths: list[_Path]


@dataclass(frozen=True)
class SliceTimes:
    """Attributes:
    rows: as `SLICE_SCHEMA`, a row per range, thread and path of names that took time in it or began in it. `path` goes
        from the outermost to the slice itself, with `#` for every number in a name; `self_s` is the time without direct
        children, cut to the range; `count` the slices that began in the range; `is_lock` for a wait for a lock.
    clipped_count: slices that their children exceed by the noise of clocks: their self time is 0.
    """

    rows: pa.Table
    clipped_count: int


def slice_times(
    session: TraceSession, names: Names, ranges: Sequence[Range], utids: Sequence[int] | None = None
) -> SliceTimes:
    """Self times of threads' slices within each range.

    Args:
        utids: the threads; default: all.

    Raises:
        Rejected: ENGINE_…
    """
    parts: list[pa.Table] = []
    clipped_count = 0
    for first_ns, last_ns, members in clusters(ranges):
        sql = (
            statement("slices_of_threads", start_ns=first_ns, end_ns=last_ns)
            if utids is None
            else statement("slices_of_app", utids=list(utids), start_ns=first_ns, end_ns=last_ns)
        )
        table = session.query(sql, SLICE_COLUMNS)
        if not len(table):
            continue
        found = nested(table, names.contents.end_ns)
        for member in members:
            rows, clipped = rows_of_range(found, member, ranges[member], names.thread)
            parts.append(rows)
            clipped_count += clipped
    return SliceTimes(merged(parts), clipped_count)


def rows_of_range(
    found: Nested, member: int, one: Range, owner: Callable[[int], tuple[bool, str, str]]
) -> tuple[pa.Table, int]:
    """Rows as `SLICE_SCHEMA` of one range, not yet `merged`, and how many slices were clipped.

    Args:
        member: the range's position. owner: utid → whose it is, see `Names.thread`.
    """
    lo, hi = one
    own = self_times(found.start_ns, found.end_ns, found.parent, lo, hi)
    self_ns = np.bincount(found.code, np.maximum(own, 0), len(found.paths))
    begins = (found.start_ns >= lo) & (found.start_ns < hi)
    count = np.bincount(found.code[begins], minlength=len(found.paths))
    return _slice_rows(member, owner, found.paths, self_ns, count), int((own < 0).sum())


def clusters(ranges: Sequence[Range]) -> Iterator[tuple[int, int, list[int]]]:
    """(first, last, positions of the ranges) of each stretch that ranges cover without a gap, long ones in parts; empty
    ranges have none."""
    order = sorted((k for k, (start, end) in enumerate(ranges) if start < end), key=lambda k: ranges[k])
    members: list[int] = []
    last_ns = 0
    for k in order:
        start, end = ranges[k]
        if members and (start > last_ns or (len(members) >= _MOST_RANGES and start >= last_ns)):
            yield ranges[members[0]][0], last_ns, members
            members = []
        last_ns = max(last_ns, end) if members else end
        members.append(k)
    if members:
        yield ranges[members[0]][0], last_ns, members


def nested(table: Table, end_ns: int) -> Nested:
    """The rows of a statement with `SLICE_COLUMNS`, in the order of depth."""
    ts, dur = table["ts"], table["dur"]
    parent = _positions(table["id"], table["parent_id"].values, table["parent_id"].is_null)
    code, paths = numbered_paths(table["depth"], parent, table["name"], table["utid"])
    return Nested(ts, np.where(dur < 0, end_ns, ts + dur), parent, code, paths)


def _positions(ids: np.ndarray, wanted: np.ndarray, is_null: np.ndarray) -> np.ndarray:
    """Where each wanted id stands among the ids, -1 where it is none of them."""
    order = np.argsort(ids)
    place = np.minimum(np.searchsorted(ids, wanted, sorter=order), ids.size - 1)
    found = order[place]
    return np.where(is_null | (ids[found] != wanted), -1, found)


def numbered_paths(
    depth: np.ndarray, parent: np.ndarray, names: np.ndarray, utid: np.ndarray
) -> tuple[np.ndarray, list[_Path]]:
    """For each slice the number of its path, and the paths; level by level, as parents come before their children."""
    known: dict[str | None, int] = {}
    texts: list[str] = []
    name = np.empty(len(names), dtype=np.int64)
    for k, text in enumerate(names):
        if text not in known:
            known[text] = len(texts)
            texts.append(entity_name(text))
        name[k] = known[text]
    code = np.full(len(names), -1, dtype=np.int64)
    paths: list[_Path] = []
    borders = [0, *(np.flatnonzero(np.diff(depth)) + 1).tolist(), len(names)]
    for begin, end in pairwise(borders):
        level = slice(begin, end)
        above = np.where(parent[level] >= 0, code[parent[level]], -1)
        owner = np.where(above < 0, -1 - utid[level], above)
        different, number = np.unique(owner * len(texts) + name[level], return_inverse=True)
        code[level] = len(paths) + number.ravel()
        for key in different.tolist():
            over, own = divmod(key, len(texts))
            before = paths[over] if over >= 0 else (-1 - over, ())
            paths.append((before[0], (*before[1], texts[own])))
    return code, paths


def _slice_rows(
    member: int,
    owner: Callable[[int], tuple[bool, str, str]],
    paths: Sequence[_Path],
    self_ns: np.ndarray,
    count: np.ndarray,
) -> pa.Table:
    present = np.flatnonzero((self_ns > 0) | (count > 0)).tolist()
    owners = [owner(paths[k][0]) for k in present]
    return pa.table(
        [
            [member] * len(present),
            [is_app for is_app, _, _ in owners],
            [process for _, process, _ in owners],
            [thread for _, _, thread in owners],
            [list(paths[k][1]) for k in present],
            [contention(paths[k][1][-1]) is not None for k in present],
            self_ns[present] / SECOND_NS,
            count[present],
        ],
        schema=SLICE_SCHEMA,
    )


def merged(parts: Sequence[pa.Table]) -> pa.Table:
    """Threads of one name become one, in an order that does not depend on numbers of threads."""
    rows = pa.concat_tables(parts) if parts else SLICE_SCHEMA.empty_table()
    sums: dict[tuple[object, ...], list[float]] = {}
    for row in rows.to_pylist():
        key = (row["range"], row["is_app"], row["process"], row["thread"], tuple(row["path"]), row["is_lock"])
        total = sums.setdefault(key, [0.0, 0])
        total[0] += row["self_s"]
        total[1] += row["count"]
    keys = sorted(sums)
    columns = [[key[k] for key in keys] for k in range(len(SLICE_SCHEMA) - 2)]
    return pa.table([*columns, [sums[key][0] for key in keys], [sums[key][1] for key in keys]], schema=SLICE_SCHEMA)


def frame_times(session: TraceSession, names: Names, ranges: Sequence[Range]) -> pa.Table:
    """Frames within each range by process and kind of jank, as `FRAME_SCHEMA`: `total_s` is how long they took,
    cut to the range (frames overlap), `count` how many began in it.

    Raises:
        Rejected: ENGINE_…
    """
    sums: dict[tuple[int, bool, str, str], list[int]] = {}
    for first_ns, last_ns, members in clusters(ranges):
        table = session.query(statement("frames_of_all", start_ns=first_ns, end_ns=last_ns), _FRAMES)
        ts, dur = table["ts"], table["dur"]
        end = np.where(dur < 0, names.contents.end_ns, ts + dur)
        owners = [names.process(upid) for upid in table["upid"].tolist()]
        for member in members:
            lo, hi = ranges[member]
            inside = np.minimum(end, hi) - np.maximum(ts, lo)
            begins = (ts >= lo) & (ts < hi)
            for k in np.flatnonzero((inside > 0) | begins).tolist():
                total = sums.setdefault((member, *owners[k], table["jank_type"][k] or ""), [0, 0])
                total[0] += max(int(inside[k]), 0)
                total[1] += int(begins[k])
    keys = sorted(sums)
    columns = [[key[k] for key in keys] for k in range(4)]
    return pa.table(
        [*columns, [sums[key][0] / SECOND_NS for key in keys], [sums[key][1] for key in keys]], schema=FRAME_SCHEMA
    )
