"""Which processes and threads of a trace belong to the app."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd


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


def find_app(processes: pd.DataFrame, threads: pd.DataFrame, app: str) -> tuple[AppProcess, ...]:
    """The app's processes: those named as the app, and its sub-processes `app:…`.

    Several may have the same name, at once or one after the other; all of them count. A process ends with its last
    thread.

    Args:
        processes, threads: as in `TraceContents`.
        app: application id.
    """
    found: list[AppProcess] = []
    for row in processes[belongs_to(processes["name"], app)].itertuples(index=False):
        if not any(row.upid in known.upids for known in found):
            alone = AppProcess((int(row.upid),), (), str(row.name), _or_none(row.start_ts), _or_none(row.end_ts))
            found.append(_with_rest(alone, processes, threads))
    return tuple(found)


def _with_rest(process: AppProcess, processes: pd.DataFrame, threads: pd.DataFrame) -> AppProcess:
    """The process with what it did after its main thread had ended."""
    upid = process.upids[0]
    own = threads[(threads["upid"] == upid).fillna(False).to_numpy(bool)]
    others_left = own["tid"][own["end_ts"].isna().to_numpy(bool)].dropna()
    if process.end_ns is None or others_left.empty:
        return process
    later = threads[threads["upid"].isna().to_numpy(bool) & (threads["utid"] > own["utid"].max()).to_numpy(bool)]
    orphans = later[later["tid"].isin(others_left).to_numpy(bool)]
    pid = processes.loc[(processes["upid"] == upid).to_numpy(bool), "pid"].iloc[0]
    same = processes[(processes["upid"] > upid).to_numpy(bool) & (processes["pid"] == pid).fillna(False).to_numpy(bool)]
    is_another = (same["start_ts"].notna() | (same["name"].fillna(process.name) != process.name)).to_numpy(bool)
    rest = same["upid"].to_numpy()[np.cumsum(is_another) == 0]  # until the pid is used again
    if not rest.size and orphans.empty:
        return process
    ends = [_or_none(end) for end in orphans["end_ts"]]
    last_ns = max((end for end in ends if end is not None), default=process.end_ns)
    goes_on = None in ends or not ends
    return replace(
        process,
        upids=(upid, *(int(one) for one in rest)),
        orphans=tuple(int(utid) for utid in orphans["utid"]),
        end_ns=None if goes_on else max(process.end_ns, last_ns),
    )


def belongs_to(names: pd.Series, app: str) -> np.ndarray:
    """Boolean array: the name is the app's or that of one of its sub-processes. A plain comparison of texts."""
    texts = names.fillna("")
    found: np.ndarray = (texts == app).to_numpy(bool) | texts.str.startswith(app + ":").to_numpy(bool)
    return found


def app_threads(threads: pd.DataFrame, processes: tuple[AppProcess, ...]) -> list[int]:
    """utids of the threads of some processes, those that were left without one among them."""
    is_app = threads["upid"].isin([upid for process in processes for upid in process.upids]).to_numpy(bool)
    is_app |= threads["utid"].isin([utid for process in processes for utid in process.orphans]).to_numpy(bool)
    return [int(utid) for utid in threads["utid"].to_numpy()[is_app & ~_is_idle(threads)]]


def idle_threads(threads: pd.DataFrame) -> np.ndarray:
    """utids of the cores' idle tasks."""
    idle: np.ndarray = threads["utid"].to_numpy()[_is_idle(threads)]
    return idle


def _is_idle(threads: pd.DataFrame) -> np.ndarray:
    is_idle: np.ndarray = (threads["tid"] == 0).fillna(False).to_numpy(bool)
    return is_idle


def _or_none(value: object) -> int | None:
    return None if value is pd.NA else int(value)  # type: ignore[call-overload]
