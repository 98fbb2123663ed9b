"""Memory of the app, from counters that are sampled on change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perfreg_assets.traces.grid import Grid, Series
from perfreg_assets.traces.processes import AppProcess
from perfreg_assets.traces.scope import Scope
from perfreg_assets.traces.statements import statement

_SCHEMA = {"ts": "int64", "upid": "int64", "name": "string", "value": "float64"}
_COUNTERS = {
    "rss_app": "mem.rss",
    "rss_anon_app": "mem.rss.anon",
    "rss_file_app": "mem.rss.file",
    "swap_app": "mem.swap",
}
MEMORY_SERIES = tuple(_COUNTERS)
_RSS_PARTS = ("mem.rss.anon", "mem.rss.file", "mem.rss.shmem")
_UNKNOWN_HEAD_RATIO = 0.1
_POLLS_MISSED_MAX = 2

OfProcesses = dict[int, tuple[np.ndarray, np.ndarray]]
"""a process' first upid → (timestamps, values)"""
Samples = dict[str, OfProcesses]
"""counter → its samples"""


def memory_series(scope: Scope) -> list[Series]:
    """Resident memory (total, anonymous, file) and swap of the app, summed over its processes.

    The value of an interval is the one held at its end. RSS in total is `mem.rss`, which polling of /proc gives; if the
    kernel's own events (rss_stat, which give the parts) are at least twice as frequent, it is the sum of the parts.
    """
    table = scope.session.query(statement("process_memory", upids=scope.upids), _SCHEMA)
    samples = {
        str(name): samples_by_process(rows["upid"], rows["ts"], rows["value"], scope.processes)
        for name, rows in table.groups("name")
    }
    return [_series(name, counter, samples, scope.processes, scope.grid) for name, counter in _COUNTERS.items()]


def _series(name: str, counter: str, samples: Samples, app: tuple[AppProcess, ...], grid: Grid) -> Series:
    counters = _rss_counters(samples) if counter == "mem.rss" else [counter]
    if not any(part in samples for part in counters):
        return grid.missing(name, f"the trace has no {counter} of the app (process_stats, kmem/rss_stat)")
    total = np.zeros(grid.count)
    for part in counters:
        amount = held_by_all(part, samples[part], app, grid)
        if isinstance(amount, str):
            return grid.missing(name, amount)
        total += amount
    return grid.series(name, total)


def held_by_all(what: str, samples: OfProcesses, app: tuple[AppProcess, ...], grid: Grid) -> np.ndarray | str:
    """Sum over the app's processes of the value each held at the end of every interval, or why it is not known.

    Args:
        what: is sampled, for the sentence.
        samples: at least one process; those without samples count as 0.
    """
    total = np.zeros(grid.count)
    first_ns = min(int(ts[0]) for ts, _ in samples.values())
    for process in app:
        if process.upids[0] not in samples:
            continue
        ts, values = samples[process.upids[0]]
        there = _with_start(process, int(ts[0]), first_ns, grid)
        gap_ns = int(ts[0]) - max(grid.start_ns, there.start_ns or grid.start_ns)
        if gap_ns > _gap_max_ns(samples, there, grid):
            return f"the first {what} of {process.name} comes {gap_ns / 1e9:.1f} s late"
        total += held(ts, values, there, grid)
    return total


def samples_by_process(
    upid: np.ndarray, ts: np.ndarray, values: np.ndarray, app: tuple[AppProcess, ...]
) -> OfProcesses:
    """Samples of the app's processes, in order of time, by the first upid of each.

    Args:
        upid, ts: (n,) int64. values: (n,) float64.
    """
    found: OfProcesses = {}
    for process in app:
        own = np.flatnonzero(np.isin(upid, process.upids))
        if own.size:
            own = own[np.argsort(ts[own], kind="stable")]
            found[process.upids[0]] = (ts[own], values[own])
    return found


def _gap_max_ns(samples: OfProcesses, process: AppProcess, grid: Grid) -> float:
    """How long a process may be there before its first sample, whose value it then had all along.

    One that began while recording was on is found by the next poll or, when that is late, by the one after it.
    """
    gap_max_ns = max(grid.interval_ns, _UNKNOWN_HEAD_RATIO * (grid.end_ns - grid.start_ns))
    if process.start_ns is None or process.start_ns <= grid.start_ns:
        return gap_max_ns
    rounds = np.unique(np.concatenate([ts for ts, _ in samples.values()]))
    poll_ns = float(np.median(np.diff(rounds))) if rounds.size > 1 else 0.0
    return max(gap_max_ns, _POLLS_MISSED_MAX * max(poll_ns, grid.interval_ns))


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
