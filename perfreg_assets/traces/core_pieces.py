"""Scheduling slices cut at the borders of a grid: what all that is made of them begins with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfreg_assets.traces.contents import SchedSlices
from perfreg_assets.traces.grid import Grid, Pieces, split


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
    pieces = split(slices.start_ns, slices.end_ns, grid, pieces_max=limit)
    utid = slices.utid[pieces.row]
    is_busy = ~_membership(utid, idle_utids)
    pieces = Pieces(*(part[is_busy] for part in (pieces.row, pieces.bin, pieces.start_ns, pieces.end_ns)))
    utid = utid[is_busy]
    core = np.searchsorted(numbers, slices.cpu[pieces.row])
    return CorePieces(numbers, pieces, core, _membership(utid, app_utids), utid)


def _membership(utid: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """As np.isin, by a table: utids are small consecutive numbers."""
    table = np.zeros(int(max(utid.max(initial=0), wanted.max(initial=0))) + 1, dtype=bool)
    table[wanted] = True
    is_member: np.ndarray = table[utid]
    return is_member
