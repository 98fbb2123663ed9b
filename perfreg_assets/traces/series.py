"""From a loaded trace to the run's series, all on one grid."""

from __future__ import annotations

from perfreg_assets.traces import sched_series as sched
from perfreg_assets.traces.contents import TraceContents, load_contents
from perfreg_assets.traces.engine import TraceSession
from perfreg_assets.traces.event_series import block_io_series, frame_series, io_wait_series, network_series
from perfreg_assets.traces.grid import Grid, Series
from perfreg_assets.traces.memory_series import memory_series
from perfreg_assets.traces.processes import find_app, load_threads

__all__ = ["Series", "extract_series"]


def extract_series(
    session: TraceSession,
    *,
    app: str,
    start_ns: int,
    end_ns: int,
    interval_s: float,
    contents: TraceContents | None = None,
) -> list[Series]:
    """All series of the run that the trace has, and for those it lacks the reason.

    Args:
        session: with a trace loaded.
        app: the application id; its sub-processes `app:…` count too.
        start_ns, end_ns: the window in trace nanoseconds. The grid begins at `start_ns` exactly; an interval that does
            not fit whole before `end_ns` is left out (see `Grid.covering`).
        interval_s: width of an interval in seconds.
        contents: of this trace, if loaded already.

    Raises:
        Rejected: ENGINE_…; TRACE_CORRUPT for timestamps that make no sense.
    """
    grid = Grid.covering(start_ns, end_ns, interval_s)
    contents = contents or load_contents(session)
    processes = find_app(contents.processes, app)
    upids = [process.upid for process in processes]
    app_utids, idle_utids = load_threads(session, upids)
    clocks = sched.load_clocks(session)
    cores = sorted({*contents.sched.cores.tolist(), *(clocks if isinstance(clocks, dict) else ())})
    return [
        *sched.sched_series(contents.sched, grid, app_utids=app_utids, idle_utids=idle_utids, clocks=clocks),
        *sched.frequency_series(clocks, cores, grid),
        *memory_series(session, processes, grid),
        *frame_series(session, upids, grid),
        *io_wait_series(session, app_utids, grid, contents.end_ns),
        *block_io_series(session, grid),
        *network_series(session, app, grid),
    ]
