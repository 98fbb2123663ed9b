"""What one trace, and the profiles beside it, tell of the app second by second.

Added up over the seconds that are asked for, by slice, frame, call stack, method, process and allocation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from perfreg_assets.methods.thread_times import SECOND_NS, ThreadTimes
from perfreg_assets.methods.window_causes import Entity, Kind
from perfreg_assets.reasons import Reason
from perfreg_assets.traces.locks import contention
from perfreg_assets.traces.slices import Range
from perfreg_assets.traces.stacks import SECONDS
from perfreg_assets.traces.window_details import WindowDetails
from perfreg_assets.warehouse.causes import CALL_STACKS, FRAMES, HEAP, METHOD_TRACES, PROCESS_MEMORY, SLICES

PROFILE_OF = {METHOD_TRACES: "method_trace", CALL_STACKS: "call_stacks"}
"""Source → the kind of profile that it can come from."""
_NOT_OF_RUN = "the profile does not tell of any second of the run"

Values = dict[Entity, float]


def seconds_of(times: ThreadTimes) -> list[Range]:
    first, count = times.start_ns, times.seconds.shape[1]
    return [(first + k * SECOND_NS, first + (k + 1) * SECOND_NS) for k in range(count)]


def within(weights: NDArray[np.float64], covered: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The weights of covered seconds, summing to 1; all 0 where none of them has any."""
    inside = np.where(covered, weights, 0.0)
    total = float(inside.sum()) or 1.0
    shared: NDArray[np.float64] = inside / total
    return shared


class ToldOfRun:
    """What they tell of one run.

    Args:
        seconds: those that it was asked for.
    """

    def __init__(self, details: WindowDetails, seconds: Sequence[Range]) -> None:
        self.details, self._seconds, self.second_count = details, seconds, len(seconds)
        self._known: dict[str, _Coded] = {}

    def problem(self, source: str) -> str | None:
        """Why there is nothing of a source although it was recorded."""
        kind = PROFILE_OF.get(source, "")
        if kind in self.details.covered:
            return None if self.covers(source).any() else _NOT_OF_RUN
        if (why := next((one.why for one in self.details.unread if one.kind == kind), None)) is not None:
            return why
        if source == CALL_STACKS:
            samples = self.details.stacks.filter(pc.not_equal(self.details.stacks.column("source"), "heap"))
            units = set(samples.column("unit").to_pylist())
            if units and SECONDS not in units:
                return f"{Reason.PROFILE_NOT_OF_TIME.sentence} (They count {', '.join(sorted(units))}.)"
        return None

    def covers(self, source: str) -> NDArray[np.bool_]:
        """Which seconds a source tells of as a whole: all, where it is the trace itself."""
        stretches = self.details.covered.get(PROFILE_OF.get(source, ""))
        if stretches is None:
            return np.ones(self.second_count, bool)
        return np.array(
            [any(first <= start and end <= last for first, last in stretches) for start, end in self._seconds], bool
        )

    def spent(self, source: str, weights: NDArray[np.float64]) -> Values:
        """Entity → seconds per second, over seconds with these weights."""
        return self._of(source).weighted(weights)

    def grown(self, source: str, first: int, last: int) -> Values:
        """Entity → bytes that it grew in seconds [first, last); of a recording that is over by then, in all of it."""
        count = self.second_count
        first, last = (first, min(last, count)) if first < count else (0, count)
        inside = np.zeros(count)
        inside[first:last] = 1.0
        return self._of(source).weighted(inside)

    def _of(self, source: str) -> _Coded:
        if source not in self._known:
            make = {
                SLICES: self._slices,
                FRAMES: self._frames,
                CALL_STACKS: self._stacks,
                METHOD_TRACES: self._methods,
                PROCESS_MEMORY: self._memory,
                HEAP: self._heap,
            }
            self._known[source] = make[source]()
        return self._known[source]

    def _slices(self) -> _Coded:
        return _Coded(self.details.slices, ("process", "thread", "path"), "self_s", _slice)

    def _methods(self) -> _Coded:
        return _Coded(self.details.methods, ("process", "thread", "path"), "self_s", _method)

    def _frames(self) -> _Coded:
        return _Coded(
            self.details.frames, ("process", "jank_type"), "total_s",
            lambda row: Entity("frame", row["process"], None, row["jank_type"] or "None"),
        )  # fmt: skip

    def _stacks(self) -> _Coded:
        rows = self.details.stacks
        return _Coded(
            rows.filter(pc.equal(rows.column("unit"), SECONDS)), ("process", "thread", "path"), "self_value", _stack
        )

    def _heap(self) -> _Coded:
        rows = self.details.stacks
        return _Coded(
            rows.filter(pc.equal(rows.column("source"), "heap")), ("process", "path"), "self_value", _allocation
        )

    def _memory(self) -> _Coded:
        rows = self.details.memory
        grown = pc.subtract(rows.column("after_bytes"), rows.column("before_bytes"))
        return _Coded(
            rows.append_column("grown", grown), ("process", "kind"), "grown",
            lambda row: Entity("memory", row["process"], None, row["kind"]),
        )  # fmt: skip


def _slice(row: Mapping[str, Any]) -> Entity:
    path = tuple(row["path"])
    wait = contention(path[-1])
    kind: Kind = "slice" if wait is None else "lock"
    return Entity(kind, row["process"], row["thread"], wait.words if wait else path[-1], path)


def _method(row: Mapping[str, Any]) -> Entity:
    path = tuple(row["path"])
    return Entity("method", row["process"], row["thread"], path[-1], path)


def _stack(row: Mapping[str, Any]) -> Entity:
    path = tuple(row["path"])
    return Entity("stack", row["process"], row["thread"], path[-1], path)


def _allocation(row: Mapping[str, Any]) -> Entity:
    path = tuple(row["path"])
    return Entity("heap", row["process"], None, path[-1], path)


class _Coded:
    """Rows of the app by entity and second.

    Args:
        rows: with the columns `is_app` and `range`. keys: columns that tell entities apart. value: what is added up.
    """

    def __init__(
        self, rows: pa.Table, keys: Sequence[str], value: str, entity: Callable[[Mapping[str, Any]], Entity]
    ) -> None:
        rows = rows.filter(rows.column("is_app"))
        texts = [
            pc.binary_join(column, "\x1e") if pa.types.is_list(column.type) else pc.fill_null(column, "")
            for column in (rows.column(key) for key in keys)
        ]
        codes = pc.binary_join_element_wise(*texts, "\x1f").combine_chunks().dictionary_encode().indices.to_numpy()
        _, first, self._codes = np.unique(codes, return_index=True, return_inverse=True)
        self._entities = [entity(row) for row in rows.take(pa.array(first)).to_pylist()]
        self._seconds = rows.column("range").to_numpy()
        self._values = rows.column(value).to_numpy()

    def weighted(self, weights: NDArray[np.float64]) -> Values:
        """Entity → its values, each times the weight of its second."""
        sums = np.bincount(self._codes, self._values * weights[self._seconds], len(self._entities))
        found: Values = {}
        for one, amount in zip(self._entities, sums.tolist(), strict=True):
            if amount:
                found[one] = found.get(one, 0.0) + amount
        return found
