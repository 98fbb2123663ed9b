"""Barycenters by the hash of their inputs: computed once, used by every run with the same history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from perfreg_assets import __version__
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import Table, load, now_utc, replace, to_arrow


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


def assign(writer: Writer, rows: Sequence[RunBarycenterRow]) -> int:
    """Says which barycenter stands for each series of the runs in `rows`, replacing what was said of these runs."""
    return replace(writer, RUN_BARYCENTERS, rows)


def find(reader: Reader, barycenter_ids: Iterable[str]) -> dict[str, BarycenterRow]:
    """barycenter_id -> barycenter, for those that are stored."""
    rows = load(reader, BARYCENTERS, "barycenter_id IN (SELECT unnest(?::VARCHAR[]))", [list(barycenter_ids)])
    return {row.barycenter_id: row for row in rows}


def of_runs(reader: Reader, run_ids: Iterable[str]) -> dict[tuple[str, str], str]:
    """(run_id, series) -> barycenter_id."""
    found = reader.rows(
        "SELECT run_id, series, barycenter_id FROM core.run_barycenters WHERE run_id IN (SELECT unnest(?::VARCHAR[]))",
        [list(run_ids)],
    )
    return {(run_id, series): barycenter_id for run_id, series, barycenter_id in found}
