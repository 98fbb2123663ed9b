"""Thread times of the runs: a row per run; what its threads did by second lies in the data folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import pyarrow as pa

from perfreg_assets import __version__
from perfreg_assets.methods.thread_times import SECOND_NS, ThreadTimes
from perfreg_assets.warehouse import run_conditions, value_files
from perfreg_assets.warehouse import values as large
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import OF_RUN, Table, delete_runs, now_utc
from perfreg_assets.warehouse.rows import load as load_rows
from perfreg_assets.warehouse.rows_with_files import insert_with_files


@dataclass(frozen=True, kw_only=True)
class ThreadTimesRow:
    """A row of core.thread_times: `reason_code` is None exactly when the trace tells.

    Attributes:
        values_hash: of everything that is stored of the threads; None where the trace does not tell.
        values_file: filled in when the row is stored; None without a thread.
    """

    run_id: str
    start_ns: int | None = None
    second_count: int | None = None
    entity_count: int | None = None
    recorded_states: tuple[str, ...] | None = None
    values_hash: str | None = None
    is_missing: bool
    reason_code: str | None = None
    reason: str | None = None
    code_version: str = __version__
    extracted_at: datetime = field(default_factory=now_utc)
    values_file: str | None = field(default=None, compare=False)


THREAD_TIMES = Table("core.thread_times", ThreadTimesRow, ("run_id",), keys=("run_id",), numbers=OF_RUN)


@dataclass(frozen=True)
class RunThreads:
    """What is to be stored of a run: `rows` has the columns of a file, a row per entity, see `described`."""

    row: ThreadTimesRow
    rows: pa.Table


def described(run_id: str, times: ThreadTimes, *, code_version: str) -> RunThreads:
    """Thread times as they are stored: in whole nanoseconds, which nothing of them is lost by."""
    rows = _rows_of(run_id, times)
    row = ThreadTimesRow(
        run_id=run_id,
        start_ns=times.start_ns,
        second_count=times.seconds.shape[1],
        entity_count=times.seconds.shape[0],
        recorded_states=times.recorded,
        values_hash=content_hash(times.start_ns, rows),
        is_missing=False,
        code_version=code_version,
    )
    return RunThreads(row, rows)


def missing(run_id: str, reason_code: str, reason: str, *, code_version: str) -> RunThreads:
    """Of a trace that does not tell."""
    row = ThreadTimesRow(
        run_id=run_id, is_missing=True, reason_code=reason_code, reason=reason, code_version=code_version
    )
    return RunThreads(row, value_files.THREAD_TIMES.columns.empty_table())


def _rows_of(run_id: str, times: ThreadTimes) -> pa.Table:
    count, second_count = times.seconds.shape
    times_ns = np.rint(times.seconds * SECOND_NS).astype(np.int64)
    return pa.table(
        [
            pa.array([run_id] * count, pa.string()),
            pa.array(np.arange(count), pa.int32()),
            pa.array(times.process, pa.string()),
            pa.array(times.thread, pa.string()),
            pa.array(times.state, pa.string()),
            pa.array(times.is_app, pa.bool_()),
            pa.ListArray.from_arrays(np.arange(count + 1, dtype=np.int32) * second_count, times_ns.ravel()),
        ],
        schema=value_files.THREAD_TIMES.columns,
    )


def content_hash(start_ns: int, rows: pa.Table) -> str:
    """What `values_hash` holds: SHA-256 over names, states and times of a run's entities, and their place in time."""
    digest = hashlib.sha256(f"{start_ns}|".encode())
    for name in ("process", "thread", "thread_state", "is_app"):
        digest.update(repr(rows.column(name).to_pylist()).encode("utf-8", "surrogatepass"))
    for chunk in rows.column("times_ns").chunks:
        digest.update(np.diff(chunk.offsets.to_numpy()).tobytes() + chunk.flatten().to_numpy().tobytes())
    return digest.hexdigest()


def upsert(writer: Writer, runs: Sequence[RunThreads]) -> int:
    """Stores the thread times of some runs, in place of those they had."""
    if not runs:
        return 0
    forget(writer, [one.row.run_id for one in runs])
    entries = pa.concat_tables([one.rows for one in runs])
    return insert_with_files(writer, THREAD_TIMES, [one.row for one in runs], value_files.THREAD_TIMES, entries)


def forget(writer: Writer, run_ids: Iterable[str]) -> None:
    """Deletes the thread times of some runs: before their traces are read anew, perhaps without any."""
    delete_runs(writer, THREAD_TIMES.name, run_ids)


def find(reader: Reader, run_ids: Iterable[str]) -> dict[str, ThreadTimesRow]:
    """run_id -> what is known of its thread times, without them; a run whose trace was not asked is not in it."""
    rows = load_rows(reader, THREAD_TIMES, run_conditions.of(reader, run_ids))
    return {row.run_id: row for row in rows}


def load(reader: Reader, run_ids: Iterable[str]) -> dict[str, ThreadTimes]:
    """run_id -> its thread times, for runs that have some.

    Raises:
        Rejected: DATA_MISSING.
    """
    rows = {run_id: row for run_id, row in find(reader, run_ids).items() if not row.is_missing}
    columns = [name for name in value_files.THREAD_TIMES.columns.names if name != "position"]
    files = {run_id: row.values_file for run_id, row in rows.items()}
    found = large.fetch(reader, value_files.THREAD_TIMES, files.values(), rows, [*columns, "position"])
    # A file may hold earlier times of a run whose times are in another file by now.
    names, ids = found.column("values_file").to_pylist(), found.column("run_id").to_pylist()
    of_run: dict[str, list[int]] = {run_id: [] for run_id in rows}
    for index, (file, run_id) in enumerate(zip(names, ids, strict=True)):
        if files[run_id] == file:
            of_run[run_id].append(index)
    parts = {run_id: found.take(pa.array(chosen, pa.int64())).sort_by("position") for run_id, chosen in of_run.items()}
    return {run_id: times_of(row, parts[run_id]) for run_id, row in rows.items()}


def times_of(row: ThreadTimesRow, rows: pa.Table) -> ThreadTimes:
    """The inverse of `described`.

    Args:
        rows: as there, in the order of `position`.
    """
    assert row.start_ns is not None
    times_ns = rows.column("times_ns").combine_chunks().flatten().to_numpy()
    return ThreadTimes(
        start_ns=row.start_ns,
        process=tuple(rows.column("process").to_pylist()),
        thread=tuple(rows.column("thread").to_pylist()),
        state=tuple(rows.column("thread_state").to_pylist()),
        is_app=np.array(rows.column("is_app").to_pylist(), dtype=bool),
        seconds=times_ns.reshape(rows.num_rows, row.second_count) / SECOND_NS,
        recorded=row.recorded_states or (),
    )


def figures(reader: Reader, run_ids: Iterable[str]) -> dict[str, int]:
    """How many runs have thread times, how many traces do not tell, and how many threads in a state are told apart."""
    (row,) = reader.dicts(
        "SELECT count(*) FILTER (NOT is_missing) AS runs, count(*) FILTER (is_missing) AS missing, "
        "coalesce(sum(entity_count), 0)::BIGINT AS entities FROM core.thread_times "
        f"WHERE {run_conditions.of(reader, run_ids)}"
    )
    return row
