"""Which processes and threads of a trace belong to the app."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from perfreg_assets.traces.columns import Table


@dataclass(frozen=True)
class AppProcess:
    """A process of the app; `start_ns`, `end_ns` only if the trace saw it begin or end.

    The trace processor ends a process with its main thread. What comes later from the other threads belongs to
    threads without a process, and to a process of the same pid without a begin. They are put together here:
    `upids` are the numbers of the process, `orphans` those (utid) of its threads that were left without one.
    """

    upids: tuple[int, ...]
    orphans: tuple[int, ...]
    name: str
    start_ns: int | None
    end_ns: int | None


def find_app(processes: Table, threads: Table, app: str) -> tuple[AppProcess, ...]:
    """The app's processes: those named as the app, and its sub-processes `app:…`.

    Several may have the same name, at once or one after the other; all of them count. A process ends with its last
    thread.

    Args:
        processes, threads: as in `TraceContents`.
        app: application id.
    """
    found: list[AppProcess] = []
    own = processes.take(belongs_to(processes["name"], app))
    for upid, name, start_ns, end_ns in zip(
        own["upid"].tolist(), own["name"], own["start_ts"].tolist(), own["end_ts"].tolist(), strict=True
    ):
        if not any(upid in known.upids for known in found):
            found.append(_with_rest(AppProcess((upid,), (), name, start_ns, end_ns), processes, threads))
    return tuple(found)


def _with_rest(process: AppProcess, processes: Table, threads: Table) -> AppProcess:
    """The process with what it did after its main thread had ended."""
    upid = process.upids[0]
    own = threads.take(threads["upid"].equals(upid))
    is_left = own["end_ts"].is_null & ~own["tid"].is_null
    if process.end_ns is None or not is_left.any():
        return process
    left = own["tid"].values[is_left]
    tid = threads["tid"]
    orphans = threads.take(
        threads["upid"].is_null & (threads["utid"] > own["utid"].max()) & np.isin(tid.values, left) & ~tid.is_null
    )
    (pid,) = processes["pid"].take(processes["upid"] == upid).tolist()
    has_pid = processes["pid"].equals(pid) if pid is not None else np.zeros(len(processes), bool)
    same = processes.take((processes["upid"] > upid) & has_pid)
    has_other_name = np.array([name not in (None, process.name) for name in same["name"]], bool)
    is_another = ~same["start_ts"].is_null | has_other_name
    rest = same["upid"][np.cumsum(is_another) == 0]  # until the pid is used again
    if not rest.size and not len(orphans):
        return process
    ends = orphans["end_ts"].tolist()
    last_ns = max((end for end in ends if end is not None), default=process.end_ns)
    goes_on = None in ends or not ends
    return replace(
        process,
        upids=(upid, *(int(one) for one in rest)),
        orphans=tuple(orphans["utid"].tolist()),
        end_ns=None if goes_on else max(process.end_ns, last_ns),
    )


def belongs_to(names: np.ndarray, app: str) -> np.ndarray:
    """Boolean array: the name is the app's or that of one of its sub-processes. A plain comparison of texts.

    Args:
        names: (n,) of objects, str or None.
    """
    part = app + ":"
    found = (name == app or (name is not None and name.startswith(part)) for name in names)
    return np.fromiter(found, bool, len(names))


def app_threads(threads: Table, processes: tuple[AppProcess, ...]) -> list[int]:
    """utids of the threads of some processes, those that were left without one among them."""
    upid = threads["upid"]
    is_app = np.isin(upid.values, [upid for process in processes for upid in process.upids]) & ~upid.is_null
    is_app |= np.isin(threads["utid"], [utid for process in processes for utid in process.orphans])
    found: list[int] = threads["utid"][is_app & ~_is_idle(threads)].tolist()
    return found


def idle_threads(threads: Table) -> np.ndarray:
    """utids of the cores' idle tasks."""
    idle: np.ndarray = threads["utid"][_is_idle(threads)]
    return idle


def _is_idle(threads: Table) -> np.ndarray:
    is_idle: np.ndarray = threads["tid"].equals(0)
    return is_idle
