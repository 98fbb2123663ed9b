"""Causes of suspicious windows: what was found for a run is stored, and goes, as a whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from perfreg_assets.warehouse import run_conditions, value_files
from perfreg_assets.warehouse import values as large
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import OF_RUN, Table, delete_runs, insert_all, now_utc, to_arrow
from perfreg_assets.warehouse.rows_with_files import insert_with_files
from perfreg_assets.warehouse.unread_traces import UNREAD, UnreadRow

SCHED, THREAD_STATE, MEMORY = "sched", "thread_state", "memory"
"""Sources of causes that every run keeps."""
SLICES, FRAMES, CALL_STACKS = "slices", "frames", "call_stacks"
PROCESS_MEMORY, HEAP, METHOD_TRACES = "process_memory", "heap", "method_traces"
"""Sources for which traces, and profiles beside them, are opened."""
STACKS_OF_TIME = (SLICES, CALL_STACKS, METHOD_TRACES)
"""Those of them that tell what took time by stack."""
FROM_TRACES = (SLICES, FRAMES, CALL_STACKS, METHOD_TRACES, PROCESS_MEMORY, HEAP)


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """A row of core.cause_runs.

    Attributes:
        inputs_mark: see marts.causes_from.
        stack_count: None where no trace tells stacks of its windows. values_file: filled in when the row is stored.
    """

    run_id: str
    input_hash: str
    inputs_mark: str
    stack_count: int | None = None
    code_version: str
    computed_at: datetime = field(default_factory=now_utc)
    values_file: str | None = field(default=None, compare=False)


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


@dataclass(frozen=True, kw_only=True)
class StackRow:
    """A stack of a window in the data folder, from the outermost name on; see marts.cause_stacks.

    `value`, `history_median`: own seconds per second, of a heap bytes that it took.
    """

    run_id: str
    position: int
    series: str
    window_index: int
    source: str
    process: str
    thread: str | None
    stack: tuple[str, ...]
    value: float
    history_median: float | None


RUNS = Table("core.cause_runs", RunRow, ("run_id",), ("run_id",), numbers=OF_RUN)
WINDOWS = Table("core.cause_windows", WindowRow, ("run_id",), ("run_id", "series", "window_index"), numbers=OF_RUN)
CAUSES = Table(
    "core.causes", CauseRow, ("run_id",), ("run_id", "series", "window_index", "is_cause", "rank"), numbers=OF_RUN
)
SOURCES = Table("core.cause_sources", SourceRow, ("run_id",), ("run_id", "source"), numbers=OF_RUN)
_TABLES: tuple[Table[Any], ...] = (RUNS, WINDOWS, CAUSES, SOURCES, UNREAD)


@dataclass(frozen=True)
class Explained:
    """What was found for one run."""

    run: RunRow
    windows: tuple[WindowRow, ...]
    causes: tuple[CauseRow, ...]
    sources: tuple[SourceRow, ...]
    stacks: tuple[StackRow, ...] = ()
    unread: tuple[UnreadRow, ...] = ()


@dataclass(frozen=True)
class Suspicious:
    """A window of an anomalous series, or all of the series where none stands out (no `window_index`)."""

    run_id: str
    series: str
    window_index: int | None
    start_s: float
    end_s: float
    start_ns: int
    end_ns: int
    confidence: float | None


_SUSPICIOUS = """
SELECT
    found.run_id, found.series, windows.window_index,
    coalesce(windows.start_s, 0), coalesce(windows.end_s, samples.sample_count * samples.interval_s),
    coalesce(windows.start_ns, samples.start_ns),
    coalesce(windows.end_ns, samples.start_ns + (samples.sample_count * samples.interval_s * 1e9)::BIGINT),
    windows.confidence
FROM core.profiles AS found
JOIN core.time_series AS samples ON samples.run_no = found.run_no AND samples.series = found.series
LEFT JOIN core.discords AS windows ON windows.run_no = found.run_no AND windows.series = found.series
WHERE {of} AND samples.start_ns IS NOT NULL
ORDER BY found.run_id, windows.confidence DESC NULLS LAST, 6, found.series
"""


def suspicious(reader: Reader, run_ids: Iterable[str]) -> dict[str, list[Suspicious]]:
    """run_id -> what is suspicious of it, the surest first; of every run asked for."""
    ids = list(run_ids)
    found: dict[str, list[Suspicious]] = {run_id: [] for run_id in ids}
    for row in reader.rows(_SUSPICIOUS.format(of=run_conditions.of(reader, ids, "found.run_no"))):
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
    _insert_runs(writer, found)
    rows: dict[Table[Any], list[Any]] = {
        WINDOWS: [row for one in found for row in one.windows],
        CAUSES: [row for one in found for row in one.causes],
        SOURCES: [row for one in found for row in one.sources],
        UNREAD: [row for one in found for row in one.unread],
    }
    insert_all(writer, rows)
    return len(rows[CAUSES])


def _insert_runs(writer: Writer, found: Sequence[Explained]) -> None:
    """The rows of the runs, and their stacks in the data folder."""
    if not found:
        return
    kind = value_files.CAUSE_STACKS
    stacks = to_arrow([row for one in found for row in one.stacks], StackRow).select(kind.columns.names)
    insert_with_files(writer, RUNS, [one.run for one in found], kind, stacks.cast(kind.columns))


def figures(reader: Reader, run_ids: Iterable[str]) -> dict[str, int]:
    """Explained windows of some runs, their causes, and the runs that something else disturbed."""
    of_runs = run_conditions.of(reader, run_ids)
    (row,) = reader.dicts(
        f"SELECT (SELECT count(*) FROM core.causes WHERE is_cause AND {of_runs}) AS causes, "
        "count(*) AS explained_windows, count(DISTINCT run_id) FILTER (disturbance IS NOT NULL) AS disturbed_runs "
        f"FROM core.cause_windows WHERE {of_runs}"
    )
    return row


SEVERAL_RUNS = 3
"""Runs of a version in which something must have grown to be told of the version: as in marts.causes_by_version."""
_MOST_NAMED = 20
"""Versions that are asked for by name; of more the whole app is read once, which costs no more than a few of them."""

_BY_VERSION = """
SELECT * FROM marts.causes_by_version WHERE {of}
ORDER BY run_count DESC, z_median DESC, app, series, process, thread, name
"""


def of_version(reader: Reader, app: str | None, version_name: str) -> list[dict[str, Any]]:
    """What grew in at least three runs of a version, what most runs have first; None: of all apps."""
    given = {"app = ?": app, "version_name = ?": version_name}
    known = {condition: value for condition, value in given.items() if value is not None}
    return reader.dicts(_BY_VERSION.format(of=" AND ".join(known)), list(known.values()))


def of_versions(reader: Reader, app: str, version_names: Collection[str]) -> dict[str, list[dict[str, Any]]]:
    """version -> as `of_version`, of every version asked for: by one query however many there are, as each looks at all
    that the app's runs were judged by."""
    found: dict[str, list[dict[str, Any]]] = {version: [] for version in version_names}
    if not found:
        return found
    named = list(found) if len(found) <= _MOST_NAMED else []
    of = f"app = ? AND version_name IN ({', '.join('?' * len(named))})" if named else "app = ?"
    for row in reader.dicts(_BY_VERSION.format(of=of), [app, *named]):
        if row["version_name"] in found:
            found[row["version_name"]].append(row)
    return found


def from_traces(reader: Reader, run_id: str) -> list[dict[str, Any]]:
    """Rows of marts.grown that came from a run's trace, in their order."""
    return reader.dicts(
        f"SELECT * FROM marts.grown WHERE {run_conditions.of(reader, [run_id])} "
        "AND list_contains(?::VARCHAR[], source) ORDER BY series, window_index, NOT is_cause, rank",
        [list(FROM_TRACES)],
    )


def windows(reader: Reader, run_id: str) -> dict[tuple[str, str, int], tuple[int, int]]:
    """(run_id, series, window_index) -> start and end (ns) of a run's explained windows that hold."""
    return {
        (run_id, series, index): (start_ns, end_ns)
        for series, index, start_ns, end_ns in reader.rows(
            "SELECT series, window_index, start_ns, end_ns FROM marts.cause_windows "
            f"WHERE {run_conditions.of(reader, [run_id])}"
        )
    }


def stacks(reader: Reader, run_ids: Iterable[str]) -> dict[tuple[str, str, int], list[dict[str, Any]]]:
    """(run_id, series, window_index) -> source, process, thread, stack, value and history_median of its stacks, in
    their order; of all windows that stacks are stored of, current or not. Only files with these runs are opened.

    Raises:
        Rejected: DATA_MISSING.
    """
    files = dict(
        reader.rows(
            "SELECT run_id, values_file FROM core.cause_runs "
            f"WHERE values_file IS NOT NULL AND {run_conditions.of(reader, run_ids)}"
        )
    )
    columns = ("run_id", "position", "series", "window_index", *_OF_STACK)
    rows = large.fetch(reader, value_files.CAUSE_STACKS, files.values(), files, columns).to_pylist()
    found: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (row["run_id"], row["position"])):
        if files[row["run_id"]] == row["values_file"]:  # a file may hold earlier stacks of a run
            key = (row["run_id"], row["series"], row["window_index"])
            found.setdefault(key, []).append({name: row[name] for name in _OF_STACK})
    return found


_OF_STACK = ("source", "process", "thread", "stack", "value", "history_median")
