"""Time series of the runs: one DOUBLE[] per run and series on the common grid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from perfreg_assets import __version__
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import Table, delete_runs, load, now_utc, replace


@dataclass(frozen=True, kw_only=True)
class SeriesRow:
    """A row of core.time_series: `values` (n,) in `unit`, or None with the reason why the series is missing."""

    run_id: str
    series: str
    unit: str
    interval_s: float
    start_ns: int | None
    values: np.ndarray | None
    is_missing: bool
    reason_code: str | None = None
    reason: str | None = None
    code_version: str = __version__
    extracted_at: datetime = field(default_factory=now_utc)


_OF_RUN = Table("core.time_series", SeriesRow, ("run_id",))
_OF_SERIES = Table("core.time_series", SeriesRow, ("run_id", "series"))


def upsert(writer: Writer, rows: Sequence[SeriesRow], *, keep_others: bool = False) -> int:
    """Stores all series of the runs in `rows`; with `keep_others` only the series named there are replaced."""
    return replace(writer, _OF_SERIES if keep_others else _OF_RUN, rows)


def find(
    reader: Reader, run_ids: Iterable[str], names: Iterable[str] | None = None
) -> dict[tuple[str, str], SeriesRow]:
    """(run_id, series) -> series, missing ones (values None) too; all names by default."""
    rows = load(
        reader,
        _OF_RUN,
        "run_id IN (SELECT unnest(?::VARCHAR[])) AND (? OR series IN (SELECT unnest(?::VARCHAR[])))",
        [list(run_ids), names is None, list(names or ())],
    )
    return {(row.run_id, row.series): row for row in rows}


def forget(writer: Writer, run_ids: Iterable[str]) -> None:
    """Deletes all series of some runs: before they are extracted anew, perhaps without any."""
    delete_runs(writer, _OF_RUN.name, run_ids)


def intervals(reader: Reader, run_ids: Iterable[str]) -> dict[str, float]:
    """run_id -> interval in seconds of its series, for runs that have any."""
    found = reader.rows(
        "SELECT run_id, any_value(interval_s) FROM core.time_series "
        "WHERE run_id IN (SELECT unnest(?::VARCHAR[])) GROUP BY run_id",
        [list(run_ids)],
    )
    return dict(found)
