"""Causes of suspicious windows: what was found for a run is stored, and goes, as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import Table, delete_runs, insert, now_utc, to_arrow

SCHED, THREAD_STATE, MEMORY, SLICES, CALL_STACKS = "sched", "thread_state", "memory", "slices", "call_stacks"
"""Sources of causes."""


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """A row of core.cause_runs."""

    run_id: str
    input_hash: str
    code_version: str
    computed_at: datetime = field(default_factory=now_utc)


@dataclass(frozen=True, kw_only=True)
class WindowRow:
    """A row of core.cause_windows."""

    run_id: str
    series: str
    window_index: int
    is_whole_run: bool
    start_s: float
    end_s: float
    start_ns: int
    end_ns: int
    confidence: float | None
    state: str
    state_reason: str | None
    disturbance: str | None
    history_count: int
    matched_count: int
    windows_hash: str
    threads_hash: str | None


@dataclass(frozen=True, kw_only=True)
class CauseRow:
    """A row of core.causes."""

    run_id: str
    series: str
    window_index: int
    is_cause: bool
    rank: int
    kind: str
    scope: str
    process: str | None
    thread: str | None
    name: str
    path: str | None
    value: float
    history_median: float | None
    history_mad: float | None
    growth: float | None
    growth_share: float | None
    z: float | None
    is_new: bool
    matched_count: int
    history_count: int
    source: str


@dataclass(frozen=True, kw_only=True)
class SourceRow:
    """A row of core.cause_sources; `reason` says why it was not there."""

    run_id: str
    source: str
    is_present: bool
    history_count: int
    reason: str | None


RUNS = Table("core.cause_runs", RunRow, ("run_id",), ("run_id",))
WINDOWS = Table("core.cause_windows", WindowRow, ("run_id",), ("run_id", "series", "window_index"))
CAUSES = Table("core.causes", CauseRow, ("run_id",), ("run_id", "series", "window_index", "is_cause", "rank"))
SOURCES = Table("core.cause_sources", SourceRow, ("run_id",), ("run_id", "source"))
_TABLES: tuple[Table[Any], ...] = (RUNS, WINDOWS, CAUSES, SOURCES)


@dataclass(frozen=True)
class Explained:
    """What was found for one run."""

    run: RunRow
    windows: tuple[WindowRow, ...]
    causes: tuple[CauseRow, ...]
    sources: tuple[SourceRow, ...]


@dataclass(frozen=True)
class Suspicious:
    """A window of an anomalous series, or all of the series where none stands out (no `window_index`).

    `windows_hash`: of what the series' windows were found from.
    """

    run_id: str
    series: str
    windows_hash: str | None
    window_index: int | None
    start_s: float
    end_s: float
    start_ns: int
    end_ns: int
    confidence: float | None


_SUSPICIOUS = """
SELECT
    found.run_id, found.series, found.input_hash, windows.window_index,
    coalesce(windows.start_s, 0), coalesce(windows.end_s, samples.sample_count * samples.interval_s),
    coalesce(windows.start_ns, samples.start_ns),
    coalesce(windows.end_ns, samples.start_ns + (samples.sample_count * samples.interval_s * 1e9)::BIGINT),
    windows.confidence
FROM core.profiles AS found
JOIN core.time_series AS samples ON samples.run_id = found.run_id AND samples.series = found.series
LEFT JOIN core.discords AS windows ON windows.run_id = found.run_id AND windows.series = found.series
WHERE found.run_id IN (SELECT unnest(?::VARCHAR[])) AND samples.start_ns IS NOT NULL
ORDER BY found.run_id, windows.confidence DESC NULLS LAST, 7, found.series
"""


def suspicious(reader: Reader, run_ids: Iterable[str]) -> dict[str, list[Suspicious]]:
    """run_id -> what is suspicious of it, the surest first; of every run asked for."""
    ids = list(run_ids)
    found: dict[str, list[Suspicious]] = {run_id: [] for run_id in ids}
    for row in reader.rows(_SUSPICIOUS, [ids]):
        found[row[0]].append(Suspicious(*row))
    return found


def forget(writer: Writer, run_ids: Iterable[str]) -> None:
    """Deletes what was found for some runs: their windows are others now."""
    ids = list(run_ids)
    for table in _TABLES:
        delete_runs(writer, table.name, ids)


def replace(writer: Writer, run_ids: Iterable[str], found: Sequence[Explained]) -> int:
    """Makes this all that is known of causes in `run_ids`; the number of causes."""
    forget(writer, run_ids)
    rows: dict[Table[Any], list[Any]] = {
        RUNS: [one.run for one in found],
        WINDOWS: [row for one in found for row in one.windows],
        CAUSES: [row for one in found for row in one.causes],
        SOURCES: [row for one in found for row in one.sources],
    }
    for table, own in rows.items():
        if own:
            insert(writer, table, to_arrow(own, table.row))
    return len(rows[CAUSES])


def figures(reader: Reader, run_ids: Iterable[str]) -> dict[str, int]:
    """Explained windows of some runs, their causes, and the runs that something else disturbed."""
    (row,) = reader.dicts(
        "SELECT (SELECT count(*) FROM core.causes WHERE is_cause AND list_contains($ids::VARCHAR[], run_id)) "
        "AS causes, count(*) AS explained_windows, "
        "count(DISTINCT run_id) FILTER (disturbance IS NOT NULL) AS disturbed_runs "
        "FROM core.cause_windows WHERE list_contains($ids::VARCHAR[], run_id)",
        {"ids": list(run_ids)},
    )
    return row


def of_version(reader: Reader, app: str | None, version_name: str) -> list[dict[str, Any]]:
    """What grew in at least three runs of a version, what most runs have first; None: of all apps."""
    return reader.dicts(
        "SELECT * FROM marts.causes_by_version WHERE version_name = $version AND ($app IS NULL OR app = $app) "
        "ORDER BY run_count DESC, z_median DESC, app, series, process, thread, name",
        {"version": version_name, "app": app},
    )
