"""Atrace marks in bundles of kernel events, and which of them a part of a trace cannot be understood without; and the
events by which processes and threads begin, end and get their names.

A section is a begin mark and an end mark, which may lie in bundles of different cores: of a thread (`B|…`, `E`), or
named with a cookie (`S|…`, `F|…`; `G|…`, `H|…` on a track). A counter (`C|…`) holds its value until the next mark, and
so do the kernel's own: a core that stays at a frequency tells it once, perhaps an hour before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from perfreg_assets.methods.packet_scanner import AT, LENGTH, PRINT, bundle_head, field_at

_B, _E, _S, _F, _G, _H, _C, _BAR, _NEWLINE = 66, 69, 83, 70, 71, 72, 67, 124, 10
BEGIN, END, VALUE, OTHER = 1, 2, 3, 0
LIFE = 4  # of a process or thread; is no mark, and paired with nothing
_FIRST_LIFE, _LAST_LIFE = 235, 240  # ftrace_event.proto: task_newtask to sched_process_free
_CPU_FREQUENCY, _CPU_IDLE, _CLOCK_RATE, _RSS, _GPU_FREQUENCY, _GPU_MEMORY, _TEMPERATURE, _RSS_THROTTLED, _KGSL = (
    *(11, 13, 16, 313, 332, 340, 341, 359, 509),
)
TIME, KEY, KIND, BUNDLE, ORDINAL, FIRST, BEHIND = range(7)
"""Columns of a mark: time; what it belongs to; kind (above); number of the bundle, and of the mark in it; where its
field begins (its tag) and ends in the data."""
COLUMNS = 7
_FNV_BASIS, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_NOTHING = -1


@njit(cache=True, nogil=True)
def _hash(data: Any, at: int, end: int, value: Any) -> Any:
    for i in range(at, end):
        value = (value ^ np.uint64(data[i])) * _FNV_PRIME
    return value


@njit(cache=True, nogil=True)
def _key(data: Any, at: Any, end: Any, tid: Any) -> Any:
    """(kind, key) of a mark's text."""
    while end > at and (data[end - 1] == _NEWLINE or data[end - 1] == 0):
        end -= 1
    if end <= at or (end > at + 1 and data[at + 1] != _BAR):
        return OTHER, np.uint64(0)
    letter = data[at]
    if letter in (_B, _E):
        key = (_FNV_BASIS ^ np.uint64(tid)) * _FNV_PRIME
        return (BEGIN if letter == _B else END), key
    if letter in (_S, _F):
        return (BEGIN if letter == _S else END), _hash(data, at + 2, end, _FNV_BASIS ^ np.uint64(_S))
    last = end
    for i in range(at, end):
        if data[i] == _BAR:
            last = i
    if letter == _C:
        return VALUE, _hash(data, at + 2, last, _FNV_BASIS ^ np.uint64(_C))
    if letter in (_G, _H):
        # G|pid|track|name|cookie, H|pid|track|cookie: what both name.
        bars = 0
        stop = end
        for i in range(at, end):
            if data[i] == _BAR:
                bars += 1
                if bars == 3:
                    stop = i
                    break
        key = _hash(data, at + 2, stop, _FNV_BASIS ^ np.uint64(_G))
        return (BEGIN if letter == _G else END), _hash(data, last, end, key)
    return OTHER, np.uint64(0)


@njit(cache=True, nogil=True)
def _values_of(number: Any) -> int:
    """Of a kernel event that says what a counter is from now on: the fields that do, as bits; 0 of any other event."""
    if number in (_CPU_FREQUENCY, _CPU_IDLE, _KGSL):
        return 1 << 1
    if number in (_RSS, _GPU_FREQUENCY):
        return 1 << 2
    if number in (_CLOCK_RATE, _TEMPERATURE):  # and who set it; and what it was before
        return 1 << 2 | 1 << 3
    if number == _GPU_MEMORY:
        return 1 << 3
    return 1 << 4 if number == _RSS_THROTTLED else 0


@njit(cache=True, nogil=True)
def _counter_key(data: Any, at: Any, end: Any, number: Any, values: int) -> Any:
    """Key of the counter that a kernel event is of: the event, and all it says but the value."""
    key = (_FNV_BASIS ^ np.uint64(number)) * _FNV_PRIME
    while at < end:
        field, _, _, stop = field_at(data, at, end)
        if stop < 0:
            break
        if field > 60 or not (values >> field) & 1:
            key = _hash(data, at, stop, key)
        at = stop
    return key


@njit(cache=True, nogil=True)
def _scan(data: Any, begins: Any, lengths: Any, first_bundle: int, rows: Any) -> Any:  # noqa: PLR0912, PLR0915  (a kernel)
    count = 0
    for b in range(begins.shape[0]):
        at = begins[b]
        end = at + lengths[b]
        shift, _, _, is_whole = bundle_head(data, at, end)
        ordinal = 0
        while at < end and is_whole:
            number, wire, value, stop = field_at(data, at, end)
            if number == 2 and wire == 2:
                time = np.int64(-1)
                tid = np.int64(0)
                text, behind = 0, 0
                is_life, is_counter = False, False
                counter = np.uint64(0)
                inner = value
                while inner < stop:
                    n, w, v, s = field_at(data, inner, stop)
                    if s < 0:
                        break
                    if n == 1 and w == 0:
                        time = v
                    elif n == 2 and w == 0:
                        tid = v
                    elif _FIRST_LIFE <= n <= _LAST_LIFE:
                        is_life = True
                    elif n == PRINT and w == 2:
                        place = v
                        while place < s:
                            pn, pw, pv, ps = field_at(data, place, s)
                            if ps < 0:
                                break
                            if pn == 2 and pw == 2:
                                text, behind = pv, ps
                            place = ps
                    elif w == 2:
                        values = _values_of(n)
                        if values:
                            is_counter = True
                            counter = _counter_key(data, v, s, n, values)
                    inner = s
                if (behind > text or is_life or is_counter) and time >= 0:
                    if count < rows.shape[0]:
                        if is_life:
                            kind, key = LIFE, np.uint64(0)
                        elif is_counter:
                            kind, key = VALUE, counter
                        else:
                            kind, key = _key(data, text, behind, tid)
                        row = rows[count]
                        row[TIME] = time + shift
                        row[KEY] = np.int64(key)
                        row[KIND] = kind
                        row[BUNDLE] = first_bundle + b
                        row[ORDINAL] = ordinal
                        row[FIRST] = at
                        row[BEHIND] = stop
                    count += 1
                    ordinal += 1
            at = stop
    return count


def scan_marks(data: NDArray[np.uint8], bundles: NDArray[np.int64], first_bundle: int) -> NDArray[np.int64]:
    """(marks, COLUMNS) of the bundles that are the payloads of some packets, a row of `scan_packets` each."""
    rows = np.empty((1024, COLUMNS), np.int64)
    while True:
        count = int(_scan(data, bundles[:, AT], bundles[:, LENGTH], first_bundle, rows))
        if count <= len(rows):
            return rows[:count]
        rows = np.empty((count, COLUMNS), np.int64)


@njit(cache=True, nogil=True)
def _overlaps(first: Any, last: Any, starts: Any, ends: Any) -> Any:
    place = np.searchsorted(ends, first, side="right")
    return place < ends.shape[0] and starts[place] <= last


@njit(cache=True, nogil=True)
def _slot(keys: Any, used: Any, key: Any) -> Any:
    mask = keys.shape[0] - 1
    at = np.int64(np.uint64(key) & np.uint64(mask))
    while used[at] and keys[at] != key:
        at = (at + 1) & mask
    return at


@njit(cache=True, nogil=True)
def _pair(
    marks: Any, starts: Any, ends: Any, keys: Any, used: Any, tops: Any, nodes: Any, free: Any, free_count: int,
    extras: Any,
) -> Any:  # fmt: skip
    """Marks in order of time; (how many nodes are free, how many marks outside the stretches are needed)."""
    count = 0
    for i in range(marks.shape[0]):
        kind = marks[i, KIND]
        if kind in (OTHER, LIFE):
            continue
        slot = _slot(keys, used, marks[i, KEY])
        if not used[slot]:
            used[slot] = True
            keys[slot] = marks[i, KEY]
            tops[slot] = _NOTHING
        time = marks[i, TIME]
        top = tops[slot]
        if kind == BEGIN or (kind == VALUE and top < 0):
            free_count -= 1
            node = free[free_count]
            nodes[node, 0], nodes[node, 1] = top, time
            nodes[node, 2], nodes[node, 3] = marks[i, BUNDLE], marks[i, ORDINAL]
            nodes[node, 4] = kind
            tops[slot] = node
            continue
        if top < 0:
            continue
        if _overlaps(nodes[top, 1], time, starts, ends):
            if not _overlaps(nodes[top, 1], nodes[top, 1], starts, ends):
                extras[count, 0], extras[count, 1] = nodes[top, 2], nodes[top, 3]
                count += 1
            if kind == END and not _overlaps(time, time, starts, ends):
                extras[count, 0], extras[count, 1] = marks[i, BUNDLE], marks[i, ORDINAL]
                count += 1
        if kind == END:
            tops[slot] = nodes[top, 0]
            free[free_count] = top
            free_count += 1
        else:
            nodes[top, 1], nodes[top, 2], nodes[top, 3] = time, marks[i, BUNDLE], marks[i, ORDINAL]
    return free_count, count


class MarkPairs:
    """Pairs marks as they come, and remembers which of those outside some stretches are needed inside."""

    def __init__(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """
        Args:
            starts, ends: (stretches,) ascending.
        """
        self._starts, self._ends = starts, ends
        self._keys, self._used = np.zeros(1024, np.int64), np.zeros(1024, np.bool_)
        self._tops = np.full(1024, _NOTHING, np.int64)
        self._nodes = np.zeros((0, 5), np.int64)
        self._free = np.zeros(0, np.int64)
        self.needed: set[tuple[int, int]] = set()

    def add(self, marks: NDArray[np.int64]) -> None:
        """The next marks, (m, columns) as `scan_marks` gives them, in order of time."""
        self._make_room(len(marks))
        extras = np.empty((2 * len(marks), 2), np.int64)
        free = np.zeros(len(self._nodes), np.int64)
        free[: len(self._free)] = self._free
        left, count = _pair(
            marks, self._starts, self._ends, self._keys, self._used, self._tops, self._nodes, free, len(self._free),
            extras,
        )  # fmt: skip
        self._free = free[:left]
        self.needed.update(map(tuple, extras[:count].tolist()))

    def finish(self) -> set[tuple[int, int]]:
        """(bundle, mark in it) of all that are needed; what is open lasts until the end."""
        end = int(self._ends[-1]) if len(self._ends) else 0
        is_free = np.zeros(len(self._nodes), np.bool_)
        is_free[self._free] = True
        for _, time, bundle, ordinal, _kind in self._nodes[~is_free].tolist():
            if _overlaps(time, end, self._starts, self._ends) and not _overlaps(time, time, self._starts, self._ends):
                self.needed.add((bundle, ordinal))
        return self.needed

    def _make_room(self, count: int) -> None:
        if len(self._free) < count:
            before = len(self._nodes)
            added = max(count, before)
            self._nodes = np.concatenate([self._nodes, np.zeros((added, 5), np.int64)])
            self._free = np.concatenate([self._free, np.arange(before, before + added)])
        size = len(self._keys)
        while size < 2 * (int(self._used.sum()) + count):
            size *= 2
        if size > len(self._keys):
            keys, used, tops = np.zeros(size, np.int64), np.zeros(size, np.bool_), np.full(size, _NOTHING, np.int64)
            for number in np.flatnonzero(self._used).tolist():
                slot = _slot(keys, used, self._keys[number])
                keys[slot], used[slot], tops[slot] = self._keys[number], True, self._tops[number]
            self._keys, self._used, self._tops = keys, used, tops
