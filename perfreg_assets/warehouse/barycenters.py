"""Barycenters by the hash of their inputs: computed once, used by every run with the same history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import numpy as np

from perfreg_assets import __version__
from perfreg_assets.warehouse import joining, key_digests, value_files
from perfreg_assets.warehouse import values as large
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import OF_RUN, Table, delete_runs, insert, load, now_utc, to_arrow, with_column


@dataclass(frozen=True, kw_only=True)
class BarycenterRow:
    """A row of core.barycenters; `values` (n,) in the unit of the series, `values_file` filled in when it is stored."""

    barycenter_id: str
    values: np.ndarray
    inertia: float
    iteration_count: int
    backend: str
    seconds: float
    code_version: str = __version__
    computed_at: datetime = field(default_factory=now_utc)
    values_file: str | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class RunBarycenterRow:
    """A row of core.run_barycenters."""

    run_id: str
    series: str
    barycenter_id: str


BARYCENTERS = Table(
    "core.barycenters",
    BarycenterRow,
    ("barycenter_id",),
    keys=("barycenter_id",),
    digests=(("barycenter_digest", "barycenter_id"),),
    outside="values",
    fetch=partial(large.arrays_of, value_files.BARYCENTERS),
)
RUN_BARYCENTERS = Table(
    "core.run_barycenters", RunBarycenterRow, ("run_id",), keys=("run_id", "series"), numbers=OF_RUN
)


def insert_missing(writer: Writer, rows: Sequence[BarycenterRow], runs: Mapping[str, str] | None = None) -> int:
    """Stores the barycenters that are not there yet; the number of new ones.

    Args:
        runs: barycenter_id -> a run that is compared with it: its app and month say where the file lies.
    """
    there = stored(writer, [row.barycenter_id for row in rows])
    new = {row.barycenter_id: row for row in rows if row.barycenter_id not in there}
    if not new:
        return 0
    runs = runs or {}
    places = large.places_of(writer, runs.values())
    staged = to_arrow(list(new.values()), BarycenterRow)
    files = large.store(
        writer, value_files.BARYCENTERS, staged, {key: places[run] for key, run in runs.items() if run in places}
    )
    count = insert(writer, BARYCENTERS, with_column(staged, "values_file", files))
    joining.join_crowded(writer, value_files.BARYCENTERS)
    return count


def assign(writer: Writer, run_ids: Iterable[str], rows: Sequence[RunBarycenterRow]) -> int:
    """Makes `rows` all that is said of the barycenters of these runs; runs without any lose theirs."""
    delete_runs(writer, RUN_BARYCENTERS.name, run_ids)
    return insert(writer, RUN_BARYCENTERS, to_arrow(rows, RunBarycenterRow)) if rows else 0


def find(reader: Reader, barycenter_ids: Iterable[str]) -> dict[str, BarycenterRow]:
    """barycenter_id -> barycenter, for those that are stored."""
    wanted = set(barycenter_ids)
    rows = load(reader, BARYCENTERS, *key_digests.one_of(wanted, "barycenter_digest"))
    return {row.barycenter_id: row for row in rows if row.barycenter_id in wanted}


def stored(reader: Reader, barycenter_ids: Iterable[str]) -> set[str]:
    """Those of the ids that are stored."""
    wanted = set(barycenter_ids)
    of_digests, bound = key_digests.one_of(wanted, "barycenter_digest")
    found = reader.rows(f"SELECT barycenter_id FROM core.barycenters WHERE {of_digests}", bound)
    return {key for (key,) in found} & wanted
