"""Memory of the app, from counters that are sampled on change."""

from __future__ import annotations

import numpy as np

from perfreg_assets.traces.engine import TraceSession
from perfreg_assets.traces.grid import Grid, Series
from perfreg_assets.traces.processes import AppProcess
from perfreg_assets.traces.statements import statement

BYTES_UNIT = "bytes"
_SCHEMA = {"ts": "int64", "upid": "int64", "name": "string", "value": "float64"}
_COUNTERS = {
    "rss_app": "mem.rss",
    "rss_anon_app": "mem.rss.anon",
    "rss_file_app": "mem.rss.file",
    "swap_app": "mem.swap",
}
_RSS_PARTS = ("mem.rss.anon", "mem.rss.file", "mem.rss.shmem")
_UNKNOWN_HEAD_RATIO = 0.1

Samples = dict[str, dict[int, tuple[np.ndarray, np.ndarray]]]
"""counter → upid → (timestamps, values)"""


def memory_series(session: TraceSession, app: tuple[AppProcess, ...], grid: Grid) -> list[Series]:
    """Resident memory (total, anonymous, file) and swap of the app, summed over its processes.

    The value of an interval is the one held at its end. RSS in total is `mem.rss` where it was polled, else the sum of
    its parts as the kernel's rss_stat event gives them.
    """
    table = session.query(statement("process_memory", upids=[process.upid for process in app]), _SCHEMA)
    samples: Samples = {}
    for (name, upid), rows in table.groupby(["name", "upid"], sort=True):
        samples.setdefault(str(name), {})[int(upid)] = (rows["ts"].to_numpy(), rows["value"].to_numpy())
    return [_series(name, counter, samples, app, grid) for name, counter in _COUNTERS.items()]


def _series(name: str, counter: str, samples: Samples, app: tuple[AppProcess, ...], grid: Grid) -> Series:
    counters = (
        [counter] if counter in samples or counter != "mem.rss" else [part for part in _RSS_PARTS if part in samples]
    )
    if not any(part in samples for part in counters):
        return grid.missing(name, BYTES_UNIT, f"the trace has no {counter} of the app (process_stats, kmem/rss_stat)")
    total = np.zeros(grid.count)
    for process in app:
        for part in counters:
            if process.upid not in samples.get(part, {}):
                continue
            ts, values = samples[part][process.upid]
            gap_ns = int(ts[0]) - max(grid.start_ns, process.start_ns or grid.start_ns)
            if gap_ns > max(grid.interval_ns, _UNKNOWN_HEAD_RATIO * (grid.end_ns - grid.start_ns)):
                return grid.missing(
                    name, BYTES_UNIT, f"the first {part} of {process.name} comes {gap_ns / 1e9:.1f} s late"
                )
            total += held(ts, values, process, grid)
    return grid.series(name, BYTES_UNIT, total)


def held(ts: np.ndarray, values: np.ndarray, process: AppProcess, grid: Grid) -> np.ndarray:
    """The value held at the end of each interval.

    Before its first sample a process has the value of that sample if it was there already, and 0 before it began and
    after it ended.

    Args:
        ts: (n,) int64, ascending, n ≥ 1.
        values: (n,) float64.
    """
    ends = grid.borders[1:]
    out = values[np.maximum(np.searchsorted(ts, ends, side="left") - 1, 0)].copy()
    if process.start_ns is not None:
        out[ends <= process.start_ns] = 0.0
    if process.end_ns is not None:
        out[ends > process.end_ns] = 0.0
    return out
