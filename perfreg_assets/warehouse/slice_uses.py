"""Which slices the app ran on which screens of each run: a row per run; the slices lie in the data folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from perfreg_assets import __version__
from perfreg_assets.methods.slice_uses import SliceUses
from perfreg_assets.warehouse import run_conditions, value_files
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import values as large
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import OF_RUN, Table, delete_runs, load, now_utc
from perfreg_assets.warehouse.rows_with_files import insert_with_files


@dataclass(frozen=True, kw_only=True)
class SliceUsesRow:
    """A row of core.slice_uses: `reason_code` is None exactly when the trace tells.

    Attributes:
        path_hash: of the path that says which screen was shown when.
        values_file: filled in when the row is stored.
    """

    run_id: str
    path_hash: str | None
    use_count: int | None = None
    values_hash: str | None = None
    is_missing: bool
    reason_code: str | None = None
    reason: str | None = None
    code_version: str = __version__
    extracted_at: datetime = field(default_factory=now_utc)
    values_file: str | None = field(default=None, compare=False)


SLICE_USES = Table("core.slice_uses", SliceUsesRow, ("run_id",), keys=("run_id",), numbers=OF_RUN)


@dataclass(frozen=True)
class RunSlices:
    """What is to be stored of a run: `rows` has the columns of a file, a row per slice and screen."""

    row: SliceUsesRow
    rows: pa.Table


def described(run_id: str, path_hash: str | None, uses: SliceUses, *, code_version: str) -> RunSlices:
    """Slices as they are stored."""
    columns = value_files.SLICE_USES.columns
    given: dict[str, Any] = {**vars(uses), "run_id": [run_id] * len(uses.slice), "position": range(len(uses.slice))}
    rows = pa.table([pa.array(given[one.name], one.type) for one in columns], schema=columns)
    row = SliceUsesRow(
        run_id=run_id,
        path_hash=path_hash,
        use_count=rows.num_rows,
        values_hash=content_hash(rows),
        is_missing=False,
        code_version=code_version,
    )
    return RunSlices(row, rows)


def missing(run_id: str, path_hash: str | None, reason_code: str, reason: str, *, code_version: str) -> RunSlices:
    """Of a trace that does not tell."""
    row = SliceUsesRow(
        run_id=run_id,
        path_hash=path_hash,
        is_missing=True,
        reason_code=reason_code,
        reason=reason,
        code_version=code_version,
    )
    return RunSlices(row, value_files.SLICE_USES.columns.empty_table())


def content_hash(rows: pa.Table) -> str:
    """What `values_hash` holds: SHA-256 over everything that is stored of the slices."""
    text = repr([rows.column(name).to_pylist() for name in rows.column_names if name != "run_id"])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def upsert(writer: Writer, runs: Sequence[RunSlices]) -> int:
    """Stores the slices of some runs, in place of those they had."""
    if not runs:
        return 0
    forget(writer, [one.row.run_id for one in runs])
    entries = pa.concat_tables([one.rows for one in runs])
    return insert_with_files(writer, SLICE_USES, [one.row for one in runs], value_files.SLICE_USES, entries)


def forget(writer: Writer, run_ids: Iterable[str]) -> None:
    """Deletes the slices of some runs."""
    delete_runs(writer, SLICE_USES.name, run_ids)


def find(reader: Reader, run_ids: Iterable[str]) -> dict[str, SliceUsesRow]:
    """run_id -> what is known of its slices, without them; a run whose trace was not asked is not in it."""
    rows = load(reader, SLICE_USES, run_conditions.of(reader, run_ids))
    return {row.run_id: row for row in rows}


def load_uses(reader: Reader, run_ids: Iterable[str]) -> dict[str, SliceUses | str]:
    """run_id -> its slices, or why there are none; a run whose trace was not asked is not in it.

    Raises:
        Rejected: DATA_MISSING.
    """
    rows = find(reader, run_ids)
    files = {run_id: row.values_file for run_id, row in rows.items() if not row.is_missing}
    columns = [one.name for one in value_files.SLICE_USES.columns]
    found = large.fetch(reader, value_files.SLICE_USES, files.values(), files, columns)
    of_run: dict[str, list[dict[str, Any]]] = {run_id: [] for run_id in files}
    for row in found.to_pylist():
        if files[row["run_id"]] == row["values_file"]:  # a file may hold earlier slices of a run
            of_run[row["run_id"]].append(row)
    told: dict[str, SliceUses | str] = {run_id: row.reason or "" for run_id, row in rows.items() if row.is_missing}
    for run_id, own in of_run.items():
        own.sort(key=lambda row: row["position"])
        told[run_id] = SliceUses(
            screen=_texts(own, "screen"),
            process=_texts(own, "process"),
            thread=_texts(own, "thread"),
            slice=_texts(own, "slice"),
            call_count=_numbers(own, "call_count"),
            called_ns=_numbers(own, "called_ns"),
            max_ns=_numbers(own, "max_ns"),
            self_ns=_numbers(own, "self_ns"),
            total_ns=_numbers(own, "total_ns"),
            screen_ns=_numbers(own, "screen_ns"),
        )
    return told


def _texts(rows: Sequence[Mapping[str, Any]], name: str) -> tuple[str, ...]:
    return tuple(row[name] for row in rows)


def _numbers(rows: Sequence[Mapping[str, Any]], name: str) -> NDArray[np.int64]:
    return np.array([row[name] for row in rows], np.int64)


# A run in which a slice did not run on a screen has a share of 0 there: the mean is over all runs with the screen.
_IMPACT = """
WITH of_slice AS (
    SELECT
        app, version_name, run_id, method, service, sum(self_share) AS self_share,
        sum(children_share) AS children_share, sum(calls) AS calls, sum(self_ms) AS self_ms,
        sum(children_ms) AS children_ms, sum(mean_ms * calls) AS called_ms, max(max_ms) AS max_ms
    FROM marts.change_impact
    WHERE {of}
    GROUP BY app, version_name, run_id, method, service
),
of_screen AS (
    SELECT app, version_name, service, count(DISTINCT run_id) AS run_count
    FROM of_slice
    GROUP BY app, version_name, service
)
SELECT
    app, version_name, method, service, sum(self_share) / any_value(run_count) AS self_share,
    sum(children_share) / any_value(run_count) AS children_share, sum(calls)::BIGINT AS calls,
    sum(self_ms) AS self_ms, sum(children_ms) AS children_ms, sum(called_ms) / nullif(sum(calls), 0) AS mean_ms,
    max(max_ms) AS max_ms, list(run_id ORDER BY run_id) AS run_ids
FROM of_slice
JOIN of_screen USING (app, version_name, service)
GROUP BY app, version_name, method, service
ORDER BY app, service, method
"""


def impact(reader: Reader, app: str | None, version_name: str | None) -> list[dict[str, Any]]:
    """Slices on the screens of a version's runs, over its runs together; default: the newest version of each app.

    Returns:
        rows with `app`, `version_name`, `method` (the slice), `service` (the screen, empty where the path does not
        tell), `self_share` and `children_share` (of all threads that it ran on; mean over the runs with slices on the
        screen, 0 for one without this slice there), `calls`, `self_ms` and `children_ms` (of all runs), `mean_ms` and
        `max_ms` of a call, and `run_ids` of the runs that it ran in.
    """
    newest = run_table.of_newest_versions(reader, SLICE_USES.name, app, version_name)
    return [
        row
        for run_ids in newest.values()
        for row in reader.dicts(_IMPACT.format(of=run_conditions.of(reader, run_ids)))
    ]
