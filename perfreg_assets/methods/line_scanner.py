"""Method calls found in the bytes of a log by a template of literals and fields: the fast way of `traces.call_log`.

Arrays in, arrays out. A template is literal texts with a field before each and one behind the last; a field is the
shortest text up to the next literal, as `(.*?)` of a regular expression. Names are numbered as they come; whoever joins
what several scanners found numbers them anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.lazy import LazyModule
from perfreg_assets.methods.line_fields import IGNORED, NAME_KINDS, STATUS_COUNT

kernels = LazyModule("perfreg_assets.methods.line_scanner_kernels")

_LINE_FEED = 10

Names = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class Layout:
    """A template as arrays.

    Attributes:
        literals: bytes of all literals, one behind the other; `bounds`: their ends, from 0.
        kinds: field before each literal and behind the last, one more than literals; NONE only first and last.
        elapsed_unit_ms: milliseconds in a unit of the elapsed time.
    """

    literals: NDArray[np.uint8]
    bounds: NDArray[np.int64]
    kinds: NDArray[np.int64]
    elapsed_unit_ms: float

    @property
    def shortest_line(self) -> int:
        """Bytes that a line with a call has at least: its literals and one byte for each field that is read."""
        return len(self.literals) + int(np.sum((self.kinds >= 0) & (self.kinds < IGNORED))) + 1


@dataclass
class Found:
    """The calls of one block of lines, numbers of names as in the `Scanner` that found them.

    Attributes:
        names: transaction, service, label and method of each call, an array each.
        elapsed_ms, time_ms: duration; time since 1970 as written in the line, NO_TIME where there is none.
        statuses: how many lines became what (CALL …).
        first: where the first line of each status begins, -1 without one.
        line_count, long_count, crlf_count: lines; those over MAX_LINE_BYTES; those that end in CR LF.
    """

    names: list[NDArray[np.int32]]
    elapsed_ms: NDArray[np.float64]
    time_ms: NDArray[np.int64]
    statuses: NDArray[np.int64]
    first: NDArray[np.int64]
    line_count: int
    long_count: int
    crlf_count: int


@dataclass
class Scanner:
    """Scans blocks one after the other and remembers the names. Not for two threads at once."""

    layout: Layout
    _tables: list[Names] = field(default_factory=lambda: [_empty_names() for _ in range(NAME_KINDS)])
    _room: int = 0

    def scan(self, block: NDArray[np.uint8]) -> Found:
        """The calls in a block of whole lines (the last one may lack its line end), given as its bytes (n,)."""
        room = max(len(block) // self.layout.shortest_line + 1, 1)
        if room > self._room:
            self._names = np.empty((NAME_KINDS, room), np.int32)
            self._elapsed = np.empty(room)
            self._time = np.empty(room, np.int64)
            self._room = room
        statuses = np.zeros(STATUS_COUNT, np.int64)
        first = np.full(STATUS_COUNT, -1, np.int64)
        counts = np.zeros(3, np.int64)
        line_ends = np.flatnonzero(block == _LINE_FEED)  # five times as quick as to look byte by byte
        if len(block) and (not len(line_ends) or line_ends[-1] != len(block) - 1):
            line_ends = np.append(line_ends, len(block))
        layout = self.layout
        transactions, services, labels, methods = self._tables
        *tables, count = kernels.scan(
            block, line_ends, layout.literals, layout.bounds, layout.kinds, layout.elapsed_unit_ms,
            transactions, services, labels, methods, self._names, self._elapsed, self._time, statuses, first, counts,
        )  # fmt: skip
        self._tables = list(tables)
        return Found(
            [self._names[kind, :count].copy() for kind in range(NAME_KINDS)],
            self._elapsed[:count].copy(),
            self._time[:count].copy(),
            statuses,
            first,
            int(counts[kernels.LINES]),
            int(counts[kernels.LONG]),
            int(counts[kernels.CRLF]),
        )

    def names(self, kind: int) -> list[bytes]:
        """All names of a kind by their number."""
        arena, ends, _, _, meta = self._tables[kind]
        text = arena.tobytes()
        return [text[ends[i] : ends[i + 1]] for i in range(meta[0])]


def _empty_names() -> Names:
    """(bytes of all names, their ends from 0, hashes, hash table of numbers or -1, [count, bytes used])."""
    return (
        np.empty(1 << 12, np.uint8),
        np.zeros(129, np.int64),
        np.empty(128, np.uint64),
        np.full(256, -1, np.int32),
        np.zeros(2, np.int64),
    )
