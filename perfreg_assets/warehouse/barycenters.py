"""Barycenters by the hash of their inputs: computed once, used by every run with the same history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from perfreg_assets import __version__
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import Table, delete_runs, insert, load, now_utc, to_arrow


@dataclass(frozen=True, kw_only=True)
class BarycenterRow:
    """A row of core.barycenters; `values` (n,) in the unit of the series."""

    barycenter_id: str
    values: np.ndarray
    inertia: float
    iteration_count: int
    backend: str
    seconds: float
    code_version: str = __version__
    computed_at: datetime = field(default_factory=now_utc)


@dataclass(frozen=True, kw_only=True)
class RunBarycenterRow:
    """A row of core.run_barycenters."""

    run_id: str
    series: str
    barycenter_id: str


BARYCENTERS = Table("core.barycenters", BarycenterRow, ("barycenter_id",))
RUN_BARYCENTERS = Table("core.run_barycenters", RunBarycenterRow, ("run_id",))


def insert_missing(writer: Writer, rows: Sequence[BarycenterRow]) -> int:
    """Stores the barycenters that are not there yet; the number of new ones."""
    if not rows:
        return 0
    return writer.execute_with(
        to_arrow(rows, BarycenterRow),
        f"INSERT INTO core.barycenters ({BARYCENTERS.column_list}) SELECT {BARYCENTERS.column_list} FROM staged_rows "
        "ON CONFLICT (barycenter_id) DO NOTHING",
    )


def assign(writer: Writer, run_ids: Iterable[str], rows: Sequence[RunBarycenterRow]) -> int:
    """Makes `rows` all that is said of the barycenters of these runs; runs without any lose theirs."""
    delete_runs(writer, RUN_BARYCENTERS.name, run_ids)
    return insert(writer, RUN_BARYCENTERS, to_arrow(rows, RunBarycenterRow)) if rows else 0


def find(reader: Reader, barycenter_ids: Iterable[str]) -> dict[str, BarycenterRow]:
    """barycenter_id -> barycenter, for those that are stored."""
    rows = load(reader, BARYCENTERS, "barycenter_id IN (SELECT unnest(?::VARCHAR[]))", [list(barycenter_ids)])
    return {row.barycenter_id: row for row in rows}


def stored(reader: Reader, barycenter_ids: Iterable[str]) -> set[str]:
    """Those of the ids that are stored."""
    found = reader.rows(
        "SELECT barycenter_id FROM core.barycenters WHERE barycenter_id IN (SELECT unnest(?::VARCHAR[]))",
        [list(barycenter_ids)],
    )
    return {key for (key,) in found}
