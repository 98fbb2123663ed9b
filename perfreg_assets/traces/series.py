"""From a loaded trace to the run's series, all on one grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfreg_assets.traces import sched_series as sched
from perfreg_assets.traces.engine import TraceSession
from perfreg_assets.traces.event_series import block_io_series, frame_series, io_wait_series, network_series
from perfreg_assets.traces.grid import Grid, Series
from perfreg_assets.traces.memory_series import memory_series
from perfreg_assets.traces.processes import load_processes, load_threads
from perfreg_assets.traces.statements import statement

__all__ = ["Grid", "SchedSpan", "Series", "extract_series", "load_sched_span"]

_NO_SCHED = "the trace has no scheduling events (sched/sched_switch)"


@dataclass(frozen=True)
class SchedSpan:
    """How many scheduling slices there are, and from when to when; the times mean nothing when there are none."""

    slice_count: int
    first_ns: int
    last_ns: int


def load_sched_span(session: TraceSession) -> SchedSpan:
    row = session.query(
        statement("sched_span"), {"slice_count": "int64", "first_ts": "Int64", "last_ts": "Int64"}
    ).fillna(0)
    return SchedSpan(*(int(row[name].iloc[0]) for name in row.columns))


def extract_series(session: TraceSession, *, app: str, start_ns: int, end_ns: int, interval_s: float) -> list[Series]:
    """All series of the run that the trace has, and for those it lacks the reason.

    Args:
        session: with a trace loaded.
        app: the application id; its sub-processes `app:…` count too.
        start_ns, end_ns: the window in trace nanoseconds. The grid begins at `start_ns` exactly; an interval that does
            not fit whole before `end_ns` is left out (see `Grid.covering`).
        interval_s: width of an interval in seconds.

    Raises:
        Rejected: ENGINE_…; TRACE_CORRUPT for timestamps that make no sense.
    """
    grid = Grid.covering(start_ns, end_ns, interval_s)
    processes = load_processes(session, app)
    app_utids, idle_utids = load_threads(session, processes.app_upids)
    span = load_sched_span(session)
    clocks = sched.load_clocks(session)
    cores = sorted(clocks) if isinstance(clocks, dict) else []
    out: list[Series] = []
    if span.slice_count:
        slices = sched.load_slices(session, slice_count=span.slice_count, first_ns=span.first_ns, last_ns=span.last_ns)
        out += sched.sched_series(slices, grid, app_utids=app_utids, idle_utids=idle_utids, clocks=clocks)
        cores = sorted({*cores, *(int(number) for number in np.unique(slices.cpu))})
    else:
        out += [grid.missing(name, sched.CPU_UNIT, _NO_SCHED) for name in ("cpu_app", "cpu_total")]
        out += [grid.missing(name, sched.CYCLES_UNIT, _NO_SCHED) for name in ("cycles_app", "cycles_total")]
        out.append(grid.missing("threads_running_app", sched.THREADS_UNIT, _NO_SCHED))
    out += sched.frequency_series(clocks, cores, grid)
    out += memory_series(session, processes.app, grid)
    out += frame_series(session, processes.app_upids, grid)
    out += io_wait_series(session, app_utids, grid, span.last_ns)
    out += block_io_series(session, grid)
    out += network_series(session, app, grid)
    return out
