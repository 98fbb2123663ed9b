"""The common grid of a run's series, and the exact splitting of slices over it.

All sums are integers (nanoseconds, or kilohertz times nanoseconds) until the last division, so the sum over the grid
*is* the trace's total within the window, not nearly so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from perfreg_assets.catalogue import definition_of
from perfreg_assets.reasons import Reason, Rejected

_NS = 1_000_000_000
BLOCK = 1 << 20
"""Rows that are worked on at once where a trace may have many millions, and what that takes is a multiple of theirs."""
_INTERVALS_MAX = 1_000_000  # eleven days of seconds: more comes from a corrupt timestamp


@dataclass(frozen=True)
class Series:
    """One series on the grid, or the reason why there is none (then `values` is None).

    `reason_code` is None exactly when there are values that may be judged; `missing_reason` is in words.
    """

    name: str
    unit: str
    interval_s: float
    start_ns: int
    values: np.ndarray | None
    missing_reason: str | None = None
    reason_code: str | None = None

    def not_judged(self, reason: Reason, detail: str) -> Series:
        """The same values, to be shown and not compared."""
        return replace(self, missing_reason=f"{detail}: {reason.sentence}", reason_code=reason.code)

    def without_values(self, reason: Reason, detail: str) -> Series:
        return replace(self, values=None, missing_reason=detail, reason_code=reason.code)


@dataclass(frozen=True)
class Grid:
    """`count` intervals of `interval_ns` from `start_ns` on, each with its left border and without its right one."""

    start_ns: int
    interval_ns: int
    count: int

    @classmethod
    def covering(cls, start_ns: int, end_ns: int, interval_s: float) -> Grid:
        """The whole intervals that fit into the window.

        What is left at the end, shorter than an interval, is not part of the grid: its sum would be a fraction of
        an interval's and would look like a drop in load at the end of every run.

        Raises:
            Rejected: TRACE_CORRUPT if the window has more than a million intervals.
        """
        interval_ns = round(interval_s * _NS)
        count = max(0, end_ns - start_ns) // interval_ns
        if count > _INTERVALS_MAX:
            raise Rejected(
                Reason.TRACE_CORRUPT, f"the timestamps span {(end_ns - start_ns) / _NS:.3g} s, {count} intervals"
            )
        return cls(start_ns, interval_ns, count)

    @property
    def end_ns(self) -> int:
        return self.start_ns + self.count * self.interval_ns

    @property
    def interval_s(self) -> float:
        return self.interval_ns / _NS

    @property
    def borders(self) -> np.ndarray:
        """(count + 1,) int64, in trace nanoseconds."""
        return self.start_ns + np.arange(self.count + 1, dtype=np.int64) * self.interval_ns

    def series(self, name: str, values: np.ndarray) -> Series:
        """The series of that name, in the catalogue's unit."""
        unit = definition_of(name).unit
        return Series(name, unit, self.interval_s, self.start_ns, np.asarray(values, dtype=np.float64))

    def missing(self, name: str, reason: str) -> Series:
        unit = definition_of(name).unit
        return Series(name, unit, self.interval_s, self.start_ns, None, reason, Reason.SERIES_MISSING.code)


@dataclass(frozen=True)
class Pieces:
    """Slices cut at the grid's borders: piece p is the part of slice `row[p]` in interval `bin[p]`."""

    row: np.ndarray
    bin: np.ndarray
    start_ns: np.ndarray
    end_ns: np.ndarray

    @property
    def duration_ns(self) -> np.ndarray:
        duration: np.ndarray = self.end_ns - self.start_ns
        return duration


def split(starts: np.ndarray, ends: np.ndarray, grid: Grid, *, pieces_max: int | None = None) -> Pieces:
    """Cuts slices [start, end) at every border of the grid; what lies outside the grid is dropped.

    Args:
        starts: (n,) int64 nanoseconds.
        ends: (n,) int64; a slice with end <= start has no piece.
        pieces_max: refuse more pieces than this. Slices of one core do not overlap, so every border cuts one slice
            per core at most; a trace that breaks this is corrupt and could ask for any amount of memory.

    Raises:
        Rejected: TRACE_CORRUPT, see `pieces_max`.
    """
    begin = np.maximum(starts, grid.start_ns)
    end = np.minimum(ends, grid.end_ns)
    row = np.flatnonzero(begin < end)
    begin, end = begin[row], end[row]
    first = (begin - grid.start_ns) // grid.interval_ns
    parts = (end - 1 - grid.start_ns) // grid.interval_ns - first + 1
    total = int(parts.sum())
    if pieces_max is not None and total > pieces_max:
        raise Rejected(Reason.TRACE_CORRUPT, f"slices of one core overlap: {total} pieces of {row.size} slices")
    if total == row.size:  # nothing crosses a border
        return Pieces(row, first, begin, end)
    source = np.repeat(np.arange(row.size), parts)
    nth = np.arange(total) - np.repeat(np.cumsum(parts) - parts, parts)
    bins = first[source] + nth
    left = grid.start_ns + bins * grid.interval_ns
    return Pieces(row[source], bins, np.maximum(begin[source], left), np.minimum(end[source], left + grid.interval_ns))


def add_up(amounts: np.ndarray, group: np.ndarray, bins: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Sums of int64 amounts per (group, interval): exact, unlike sums of floats.

    Returns:
        int64 array of the given shape (groups, intervals).
    """
    sums = np.zeros(shape[0] * shape[1], dtype=np.int64)
    for first in range(0, amounts.size, BLOCK):  # what indexing takes is as much as all three arrays
        part = slice(first, first + BLOCK)
        np.add.at(sums, group[part] * shape[1] + bins[part], amounts[part])
    return sums.reshape(shape)
