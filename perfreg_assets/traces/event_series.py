"""Series that only some traces have: frames, I/O and network."""

from __future__ import annotations

import numpy as np
import pandas as pd

from perfreg_assets.traces.engine import QueryError, TraceSession
from perfreg_assets.traces.grid import Grid, Series, add_up, split
from perfreg_assets.traces.processes import belongs_to
from perfreg_assets.traces.statements import statement

FRAMES_UNIT = "frames/s"
IO_WAIT_UNIT = "thread-seconds/s"
OPERATIONS_UNIT = "operations"
RATE_UNIT = "bytes/s"

# Jank that the app is the cause of, as Perfetto's android_is_app_jank_type, for labels that name several kinds
_APP_JANK = {"App Deadline Missed", "App Resynced Jitter"}


def frame_series(session: TraceSession, app_upids: list[int], grid: Grid) -> list[Series]:
    """Frames the app presented per second, and those of them that were late through the app's own fault.

    A frame counts in the interval in which it began.
    """
    names = ("frames_app", "frames_janky_app")
    table = _optional(session, "frames", {"ts": "int64", "upid": "Int64", "jank_type": "string"})
    if isinstance(table, str) or table.empty:
        why = table if isinstance(table, str) else "the trace has no frame timeline (Android 12 and later)"
        return [grid.missing(name, FRAMES_UNIT, why) for name in names]
    table = table[table["upid"].isin(app_upids).to_numpy(bool)]
    labels = table["jank_type"].fillna("").str.split(", ")
    is_janky = np.array([not _APP_JANK.isdisjoint(kinds) for kinds in labels], dtype=bool)
    ts = table["ts"].to_numpy()
    return [
        grid.series(name, FRAMES_UNIT, _count(ts[chosen], grid) / grid.interval_s)
        for name, chosen in zip(names, (np.ones(ts.size, dtype=bool), is_janky), strict=True)
    ]


def io_wait_series(session: TraceSession, app_utids: np.ndarray, grid: Grid, last_ns: int) -> list[Series]:
    """How many of the app's threads waited for I/O, on average over each interval."""
    name = "io_wait_app"
    known = session.arrays(statement("io_wait_known"), {"wait_count": "int64"})["wait_count"]
    if not known[0]:
        return [grid.missing(name, IO_WAIT_UNIT, "the trace does not tell waits for I/O (sched/sched_blocked_reason)")]
    waits = session.arrays(statement("io_wait"), {"ts": "int64", "dur": "int64", "utid": "int64"})
    is_app = np.isin(waits["utid"], app_utids)
    ts, dur = waits["ts"][is_app], waits["dur"][is_app]
    pieces = split(
        ts, np.where(dur < 0, last_ns, ts + dur), grid, pieces_max=ts.size + (grid.count + 1) * app_utids.size
    )
    total = add_up(pieces.duration_ns, np.zeros(pieces.bin.size, dtype=np.int64), pieces.bin, (1, grid.count))[0]
    return [grid.series(name, IO_WAIT_UNIT, total / grid.interval_ns)]


def block_io_series(session: TraceSession, grid: Grid) -> list[Series]:
    """Block operations queued or running on all devices, on average over each interval."""
    name = "block_io_operations"
    table = _optional(session, "block_io", {"ts": "int64", "dev": "int64", "operations": "int64"})
    if isinstance(table, str) or table.empty:
        why = table if isinstance(table, str) else "the trace has no block operations (block/block_io_start, _done)"
        return [grid.missing(name, OPERATIONS_UNIT, why)]
    total = np.zeros(grid.count, dtype=np.int64)
    for _, rows in table.groupby("dev"):
        total += _step_integral(rows["ts"].to_numpy(), rows["operations"].to_numpy(), grid)
    return [grid.series(name, OPERATIONS_UNIT, total / grid.interval_ns)]


def network_series(session: TraceSession, app: str, grid: Grid) -> list[Series]:
    """Bytes received and sent per second, by the app and by all. A row that sums up packets over some time counts in
    the interval in which it began."""
    table = _optional(
        session,
        "network_packets",
        {"ts": "int64", "dur": "int64", "package_name": "string", "direction": "string", "bytes": "Int64"},
    )
    names = {
        "net_received_app": "Received",
        "net_sent_app": "Transmitted",
        "net_received": "Received",
        "net_sent": "Transmitted",
    }
    if isinstance(table, str) or table.empty:
        why = table if isinstance(table, str) else "the trace has no network packets (Android 14 and later)"
        return [grid.missing(name, RATE_UNIT, why) for name in names]
    is_app = belongs_to(table["package_name"], app)
    out = []
    for name, direction in names.items():
        chosen = (table["direction"] == direction).fillna(False).to_numpy(bool)
        chosen &= is_app | (not name.endswith("_app"))
        rows = table[chosen]
        amount = _sum_at(rows["ts"].to_numpy(), rows["bytes"].fillna(0).to_numpy(np.int64), grid)
        out.append(grid.series(name, RATE_UNIT, amount / grid.interval_s))
    return out


def _optional(session: TraceSession, name: str, schema: dict[str, str]) -> pd.DataFrame | str:
    """The rows, or why there are none: an engine of another release may lack the table, not the run's fault."""
    try:
        return session.query(statement(name), schema)
    except QueryError as error:
        return f"the trace processor refuses {name}.sql: {' '.join(str(error).split())[-200:]}"


def _count(ts: np.ndarray, grid: Grid) -> np.ndarray:
    return _sum_at(ts, np.ones(ts.size, dtype=np.int64), grid)


def _sum_at(ts: np.ndarray, amounts: np.ndarray, grid: Grid) -> np.ndarray:
    inside = (ts >= grid.start_ns) & (ts < grid.end_ns)
    bins = (ts[inside] - grid.start_ns) // grid.interval_ns
    return add_up(amounts[inside], np.zeros(bins.size, dtype=np.int64), bins, (1, grid.count))[0]


def _step_integral(ts: np.ndarray, values: np.ndarray, grid: Grid) -> np.ndarray:
    """∫ value dt over each interval of a step function that is 0 before its first sample; int64."""
    steps = np.concatenate([[0], np.cumsum(np.diff(ts) * values[:-1])])
    k = np.searchsorted(ts, grid.borders, side="right") - 1
    at = np.where(k < 0, 0, steps[k] + (grid.borders - ts[k]) * values[k])
    return np.diff(at)
