"""Scheduling slices cut at the borders of a grid: what all that is made of them begins with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfreg_assets.traces import grid as grids
from perfreg_assets.traces.contents import SchedSlices
from perfreg_assets.traces.grid import Grid, Pieces, split

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class CorePieces:
    """What was busy, without the idle tasks.

    Attributes:
        numbers: of the cores, ascending.
        core: of every piece, the index of its core in `numbers`.
        is_app, utid: of every piece, whether its thread is the app's, and which it is.
    """

    numbers: np.ndarray
    pieces: Pieces
    core: np.ndarray
    is_app: np.ndarray
    utid: np.ndarray


def cut(slices: SchedSlices, grid: Grid, app_utids: np.ndarray, idle_utids: np.ndarray) -> CorePieces:
    """
    Raises:
        Rejected: TRACE_CORRUPT if slices of one core overlap.
    """
    numbers = slices.cores
    limit = slices.count + (grid.count + 1) * numbers.size
    is_app, is_idle = _table(app_utids, slices.utid), _table(idle_utids, slices.utid)
    parts: list[tuple[np.ndarray, ...]] = [(_NONE,) * 6]
    for first in range(0, slices.count, grids.BLOCK):
        block = slice(first, first + grids.BLOCK)
        pieces = split(slices.start_ns[block], slices.end_ns[block], grid, pieces_max=limit)
        limit -= pieces.row.size
        row = pieces.row + first
        is_busy = ~is_idle[slices.utid[row]]
        row = row[is_busy]
        core = np.searchsorted(numbers, slices.cpu[row])
        parts.append(
            (row, pieces.bin[is_busy], pieces.start_ns[is_busy], pieces.end_ns[is_busy], core, slices.utid[row])
        )
    columns = [list(column) for column in zip(*parts, strict=True)]
    del parts
    row, bins, start_ns, end_ns, core, utid = (np.concatenate(columns.pop(0)) for _ in range(6))
    return CorePieces(numbers, Pieces(row, bins, start_ns, end_ns), core, is_app[utid], utid)


def _table(wanted: np.ndarray, utid: np.ndarray) -> np.ndarray:
    """By utid whether it is a wanted one: utids are small consecutive numbers."""
    table = np.zeros(int(max(utid.max(initial=0), wanted.max(initial=0))) + 1, dtype=bool)
    table[wanted] = True
    return table
