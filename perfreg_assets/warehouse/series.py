"""Time series of the runs: one row per run and series; its samples on the common grid lie in the data folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import numpy as np
import pyarrow as pa

from perfreg_assets import __version__
from perfreg_assets.warehouse import joining, run_conditions, series_levels, value_files
from perfreg_assets.warehouse import values as large
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import (
    OF_RUN,
    Table,
    delete_runs,
    load,
    now_utc,
    numbered,
    replace_with,
    to_arrow,
    with_column,
)


@dataclass(frozen=True, kw_only=True)
class SeriesRow:
    """A row of core.time_series: `values` (n,) in `unit`, or None; `reason` says why the series is missing, or why its
    values are not judged.

    Attributes:
        sample_count, not_finite_count, values_file: filled in when the row is stored.
    """

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
    sample_count: int | None = field(default=None, compare=False)
    not_finite_count: int | None = field(default=None, compare=False)
    values_file: str | None = field(default=None, compare=False)


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
    def is_there(self) -> bool:
        """It has values, and nothing is said against comparing them."""
        return self.values_hash is not None and self.reason is None

    @property
    def content(self) -> str:
        """Equal for series that any method computes the same from."""
        return f"{self.values_hash}/{self.path_hash}"


_OF_RUN = Table(
    "core.time_series",
    SeriesRow,
    ("run_id",),
    keys=("run_id", "series"),
    outside="values",
    fetch=partial(large.arrays_of, value_files.SERIES),
    numbers=OF_RUN,
)


def upsert(writer: Writer, rows: Sequence[SeriesRow]) -> int:
    """Stores all series of the runs in `rows`, in place of those they had."""
    if not rows:
        return 0
    staged = to_arrow(rows, SeriesRow)
    series_levels.replace_runs(writer, numbered(writer, _OF_RUN, staged))
    count = replace_with(writer, _OF_RUN, with_files(writer, staged))
    joining.join_crowded(writer, value_files.SERIES)
    return count


def with_files(writer: Writer, staged: pa.Table) -> pa.Table:
    """Puts the samples of staged rows into the data folder; the rows with what the table says of them."""
    samples = staged.column("values").combine_chunks()
    counts = [None if one.values is None else len(one.values) for one in samples]
    odd = [None if one.values is None else int((~np.isfinite(_plain(one))).sum()) for one in samples]
    present = pa.array([count is not None for count in counts])
    stored = staged.filter(present)
    files = large.store(
        writer, value_files.SERIES, stored, large.places_of(writer, stored.column("run_id").unique().to_pylist())
    )
    places = iter(files.to_pylist())
    listed = pa.array([None if count is None else next(places) for count in counts], pa.string())
    staged = with_column(staged, "sample_count", pa.array(counts, pa.int64()))
    staged = with_column(staged, "not_finite_count", pa.array(odd, pa.int64()))
    return with_column(staged, "values_file", listed)


def _plain(one: pa.ListScalar) -> np.ndarray:
    samples: np.ndarray = one.values.to_numpy(zero_copy_only=False)
    return samples.astype(np.float64, copy=False)


def find(
    reader: Reader, run_ids: Iterable[str], names: Iterable[str] | None = None
) -> dict[tuple[str, str], SeriesRow]:
    """(run_id, series) -> series, missing ones (values None) too; all names by default."""
    rows = load(
        reader,
        _OF_RUN,
        f"{run_conditions.of(reader, run_ids)} AND (? OR series IN (SELECT unnest(?::VARCHAR[])))",
        [names is None, list(names or ())],
    )
    return {(row.run_id, row.series): row for row in rows}


_HASHES = """
SELECT series.run_id, series.series, series.interval_s, coalesce(series.sample_count, 0), series.values_hash,
       coalesce(runs.path_hash, ''), series.reason
FROM core.time_series AS series JOIN core.runs AS runs ON runs.run_no = series.run_no
WHERE {of} AND series.series IN (SELECT unnest(?::VARCHAR[]))
"""


def hashes(reader: Reader, run_ids: Iterable[str], names: Iterable[str]) -> dict[tuple[str, str], SeriesHash]:
    """(run_id, series) -> the series by its hashes, missing ones too."""
    found = reader.rows(_HASHES.format(of=run_conditions.of(reader, run_ids, "series.run_no")), [list(names)])
    return {(row[0], row[1]): SeriesHash(*row) for row in found}


def figures(reader: Reader, run_ids: Iterable[str]) -> dict[str, int]:
    """How many series some runs have, how many of them are missing, and how many samples the others have."""
    (row,) = reader.dicts(
        "SELECT count(*) AS series, count(*) FILTER (is_missing) AS missing_series, "
        "coalesce(sum(sample_count), 0)::BIGINT AS samples FROM core.time_series "
        f"WHERE {run_conditions.of(reader, run_ids)}"
    )
    return row


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
