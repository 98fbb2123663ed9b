"""Time series of the runs: one DOUBLE[] per run and series on the common grid."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from perfreg_assets import __version__
from perfreg_assets.warehouse import series_levels
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import Table, delete_runs, load, now_utc, replace, to_arrow


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
    values_hash: str | None = None
    code_version: str = __version__
    extracted_at: datetime = field(default_factory=now_utc)


@dataclass(frozen=True)
class SeriesHash:
    """A series without its samples: enough to tell whether what was computed from it still holds.

    Attributes:
        values_hash: of values and place in time; None where the series is missing.
        path_hash: of the run's timed path, which says what the app was doing at each sample.
    """

    run_id: str
    series: str
    interval_s: float
    sample_count: int
    values_hash: str | None
    path_hash: str
    reason: str | None

    @property
    def content(self) -> str:
        """Equal for series that any method computes the same from."""
        return f"{self.values_hash}/{self.path_hash}"


_OF_RUN = Table("core.time_series", SeriesRow, ("run_id",))


def upsert(writer: Writer, rows: Sequence[SeriesRow]) -> int:
    """Stores all series of the runs in `rows`, in place of those they had."""
    if not rows:
        return 0
    series_levels.replace_runs(writer, to_arrow(rows, SeriesRow))
    return replace(writer, _OF_RUN, rows)


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


_HASHES = """
SELECT series.run_id, series.series, series.interval_s, coalesce(len(series."values"), 0), series.values_hash,
       coalesce(runs.path_hash, md5(runs.path::VARCHAR), ''), series.reason
FROM core.time_series AS series JOIN core.runs AS runs USING (run_id)
WHERE series.run_id IN (SELECT unnest(?::VARCHAR[])) AND series.series IN (SELECT unnest(?::VARCHAR[]))
"""


def hashes(reader: Reader, run_ids: Iterable[str], names: Iterable[str]) -> dict[tuple[str, str], SeriesHash]:
    """(run_id, series) -> the series by its hashes, missing ones too."""
    found = reader.rows(_HASHES, [list(run_ids), list(names)])
    return {(row[0], row[1]): SeriesHash(*row) for row in found}


def content_hash(values: np.ndarray | None, interval_s: float, start_ns: int | None) -> str | None:
    """What `values_hash` holds: SHA-256 over the samples (n,) and their place in time; None without samples."""
    if values is None:
        return None
    digest = hashlib.sha256(f"{interval_s!r}|{start_ns}|".encode())
    digest.update(np.ascontiguousarray(values, dtype=np.float64).tobytes())
    return digest.hexdigest()


def forget(writer: Writer, run_ids: Iterable[str]) -> None:
    """Deletes all series of some runs: before they are extracted anew, perhaps without any."""
    ids = list(run_ids)
    delete_runs(writer, _OF_RUN.name, ids)
    series_levels.forget(writer, ids)
