"""Memory of the app, from counters that are sampled on change."""

from __future__ import annotations

from dataclasses import replace

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

    The value of an interval is the one held at its end. RSS in total is `mem.rss`, which polling of /proc gives; if the
    kernel's own events (rss_stat, which give the parts) are at least twice as frequent, it is the sum of the parts.
    """
    table = session.query(statement("process_memory", upids=[process.upid for process in app]), _SCHEMA)
    samples: Samples = {}
    for (name, upid), rows in table.groupby(["name", "upid"], sort=True):
        samples.setdefault(str(name), {})[int(upid)] = (rows["ts"].to_numpy(), rows["value"].to_numpy())
    return [_series(name, counter, samples, app, grid) for name, counter in _COUNTERS.items()]


def _series(name: str, counter: str, samples: Samples, app: tuple[AppProcess, ...], grid: Grid) -> Series:
    counters = _rss_counters(samples) if counter == "mem.rss" else [counter]
    if not any(part in samples for part in counters):
        return grid.missing(name, BYTES_UNIT, f"the trace has no {counter} of the app (process_stats, kmem/rss_stat)")
    total = np.zeros(grid.count)
    for part in counters:
        first_ns = min(int(ts[0]) for ts, _ in samples[part].values())
        for process in app:
            if process.upid not in samples[part]:
                continue
            ts, values = samples[part][process.upid]
            there = _with_start(process, int(ts[0]), first_ns, grid)
            gap_ns = int(ts[0]) - max(grid.start_ns, there.start_ns or grid.start_ns)
            if gap_ns > max(grid.interval_ns, _UNKNOWN_HEAD_RATIO * (grid.end_ns - grid.start_ns)):
                late = f"the first {part} of {process.name} comes {gap_ns / 1e9:.1f} s late"
                return grid.missing(name, BYTES_UNIT, late)
            total += held(ts, values, there, grid)
    return grid.series(name, BYTES_UNIT, total)


def _with_start(process: AppProcess, first_own_ns: int, first_ns: int, grid: Grid) -> AppProcess:
    """A process whose begin was not recorded and which is missing in the first round of samples began at its own
    first one: polling finds every process that is there."""
    if process.start_ns is None and first_own_ns - first_ns > grid.interval_ns:
        return replace(process, start_ns=first_own_ns)
    return process


def _rss_counters(samples: Samples) -> list[str]:
    """The counters that add up to RSS; both ways mean the same, so the better sampled one is taken, by a margin that
    keeps runs of one configuration on the same side."""
    parts = [part for part in _RSS_PARTS if part in samples]
    finest = max((_sample_count(samples, part) for part in parts), default=0)
    return parts if finest >= 2 * _sample_count(samples, "mem.rss") and finest else ["mem.rss"]


def _sample_count(samples: Samples, counter: str) -> int:
    return sum(ts.size for ts, _ in samples.get(counter, {}).values())


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
