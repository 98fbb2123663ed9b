"""What the gate found about each run's trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from perfreg_assets import __version__
from perfreg_assets.reasons import Reason
from perfreg_assets.warehouse import run_conditions
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import OF_RUN, Table, delete_runs, load, now_utc, replace


@dataclass(frozen=True, kw_only=True)
class TraceRow:
    """A row of core.traces; `reason_code` is None exactly when the trace is complete."""

    run_id: str
    is_complete: bool
    reason_code: str | None = None
    reason: str | None = None
    trace_sha256: str | None = None
    trace_bytes: int | None = None
    unpacked_bytes: int | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    duration_s: float | None = None
    packet_count: int | None = None
    data_sources: tuple[str, ...] | None = None
    process_count: int | None = None
    app_processes: tuple[str, ...] | None = None
    load_sources: tuple[str, ...] | None = None
    health: dict[str, Any] | None = None
    engine: str | None = None
    engine_version: str | None = None
    engine_seconds: float | None = None
    parameters_hash: str | None = None
    is_trace_gone: bool | None = None
    reduced_sha256: str | None = None
    code_version: str = __version__
    checked_at: datetime = field(default_factory=now_utc)


TRACES = Table("core.traces", TraceRow, ("run_id",), keys=("run_id",), numbers=OF_RUN)


def upsert(writer: Writer, rows: Sequence[TraceRow]) -> int:
    """Stores what the gate found, replacing what it found before about the same runs."""
    return replace(writer, TRACES, rows)


def find(reader: Reader, run_ids: Iterable[str]) -> dict[str, TraceRow]:
    """run_id -> trace, for runs whose trace was checked."""
    rows = load(reader, TRACES, run_conditions.of(reader, run_ids))
    return {row.run_id: row for row in rows}


def incomplete(reader: Reader, run_ids: Iterable[str]) -> set[str]:
    """Those of some runs whose trace was read and is not complete."""
    of_runs = run_conditions.of(reader, run_ids)
    return {
        run_id for (run_id,) in reader.rows(f"SELECT run_id FROM {TRACES.name} WHERE NOT is_complete AND {of_runs}")
    }


def unread_by_engine(reader: Reader, run_ids: Iterable[str]) -> set[str]:
    """Those of some runs whose trace was not read because of the engine or its limits: another may read it."""
    of_runs, of_engine = run_conditions.of(reader, run_ids), [reason.code for reason in Reason if reason.is_of_engine]
    found = reader.rows(
        f"SELECT run_id FROM {TRACES.name} WHERE list_contains(?, reason_code) AND {of_runs}", [of_engine]
    )
    return {run_id for (run_id,) in found}


def gone(reader: Reader, most: int | None = None) -> list[str]:
    """Runs whose trace was noted as gone and not as reduced, newest first; at most so many of them."""
    found = reader.rows(
        "SELECT runs.run_id FROM core.runs AS runs JOIN core.traces AS traces USING (run_no) "
        "WHERE traces.is_trace_gone AND traces.reduced_sha256 IS NULL AND NOT runs.is_quarantined "
        "AND runs.trace_file IS NOT NULL ORDER BY runs.started_at DESC, runs.run_id DESC"
        + ("" if most is None else f" LIMIT {most}")
    )
    return [run_id for (run_id,) in found]


def forget(writer: Writer, run_ids: Iterable[str]) -> None:
    """Deletes what was found about the traces of some runs: they are read again."""
    delete_runs(writer, TRACES.name, list(run_ids))


def note_gone(writer: Writer, run_ids: Iterable[str], *, is_gone: bool) -> None:
    """Says of runs whose trace was read before that the file is not there any more, or is there again."""
    writer.execute(f"UPDATE core.traces SET is_trace_gone = ? WHERE {run_conditions.of(writer, run_ids)}", [is_gone])
