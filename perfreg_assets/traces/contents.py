"""What a loaded trace holds, read from the engine once and used by the gate and by the series."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.columns import Table
from perfreg_assets.traces.engine import TraceSession
from perfreg_assets.traces.statements import statement
from perfreg_assets.traces.suspends import AWAKE, Asleep, awake_parts, suspends
from perfreg_assets.traces.trace_clock import BOOT, MONOTONIC, SUSPENDED_NS

CALL_STACKS, HEAP, SMAPS = "call_stacks", "heap_allocations", "smaps"
"""Names of data sources that have no track of their own."""
_SAMPLED = {"has_call_stacks": CALL_STACKS, "has_heap": HEAP, "has_smaps": SMAPS}
_BOUNDS_SCHEMA = {
    "start_ts": "int64", "end_ts": "int64", "sched_count": "int64", "has_slices": "int64",
    **dict.fromkeys(_SAMPLED, "int64"), "build": "string", "slept_ns": "int64",
}  # fmt: skip
_SLICE_SCHEMA = {"ts": "int64", "dur": "int64", "cpu": "int64", "utid": "int64"}
_PROCESS_SCHEMA = {"upid": "int64", "pid": "Int64", "name": "string", "start_ts": "Int64", "end_ts": "Int64"}
_THREAD_SCHEMA = {"utid": "int64", "tid": "Int64", "upid": "Int64", "end_ts": "Int64", "name": "string"}
_PAGE_ROWS = 1_000_000


@dataclass(frozen=True)
class SchedSlices:
    """Which thread was on which core and when, in order of time, without the time in which the device slept; int64
    arrays of one length.

    `end_ns` is known for all of them (see `close`). `last_event_ns` is the last moment of which the recording tells: a
    slice that was never closed does not say that scheduling was recorded until the trace's end.
    """

    start_ns: np.ndarray
    end_ns: np.ndarray
    cpu: np.ndarray
    utid: np.ndarray
    last_event_ns: int

    @property
    def count(self) -> int:
        return self.start_ns.size

    @property
    def cores(self) -> np.ndarray:
        """The numbers of the cores, ascending."""
        return np.flatnonzero(np.bincount(self.cpu))


@dataclass(frozen=True)
class TraceContents:
    """`start_ns`, `end_ns`: outermost timestamps of anything. `processes`: upid, pid, name, start_ts, end_ts.
    `threads`: utid, tid, upid, end_ts, name. `has_slices`: apps or system told what they did (atrace and the like).
    `sampled`: which of `CALL_STACKS`, `HEAP` and `SMAPS` there are. `build`: what the device ran,
    brand/product/device:release/…; empty where the trace does not tell. `asleep`: when the device slept, where slices
    were loaded."""

    start_ns: int
    end_ns: int
    processes: Table
    threads: Table
    sched: SchedSlices
    has_slices: bool
    sampled: frozenset[str] = frozenset()
    build: str = ""
    asleep: Asleep = AWAKE

    @property
    def recorded_ns(self) -> tuple[int, int]:
        """From when to when there are events that series are made of: scheduling, or anything if there is none."""
        if self.sched.count:
            return int(self.sched.start_ns[0]), self.sched.last_event_ns
        return self.start_ns, self.end_ns

    @property
    def code_name(self) -> str:
        """The device by its build (google/cheetah/cheetah:13/…: cheetah); empty where the trace does not tell."""
        parts = self.build.split("/")
        return parts[2].split(":")[0] if len(parts) > 2 else ""


def load_contents(session: TraceSession, *, with_sched: bool = True) -> TraceContents:
    """Bounds, processes, threads and scheduling slices of the loaded trace.

    Args:
        with_sched: False leaves the slices out, which are most of the work.

    Raises:
        Rejected: TRACE_TOO_DENSE; ENGINE_…
    """
    bounds = session.query(statement("trace_bounds", boot=BOOT, monotonic=MONOTONIC), _BOUNDS_SCHEMA)
    start_ns, end_ns = int(bounds["start_ts"][0]), int(bounds["end_ts"][0])
    processes = session.query(statement("processes"), _PROCESS_SCHEMA)
    threads = session.query(statement("threads"), _THREAD_SCHEMA)
    asleep = AWAKE
    if with_sched:
        count = int(bounds["sched_count"][0])
        if count > session.sched_slices_max:
            raise Rejected(
                Reason.TRACE_TOO_DENSE, f"{count:,} scheduling slices, {session.sched_slices_max:,} are allowed"
            )
        sched = _load_sched(session, start_ns, end_ns, count)
        if bounds["slept_ns"][0] > SUSPENDED_NS:
            asleep = suspends(session, np.concatenate([sched.start_ns, sched.end_ns]))
            sched = _awake(sched, asleep)
    else:
        none = np.empty(0, dtype=np.int64)
        sched = SchedSlices(none, none, none, none, start_ns)
    sampled = frozenset(source for name, source in _SAMPLED.items() if bounds[name][0])
    return TraceContents(
        *(start_ns, end_ns, processes, threads, sched),
        has_slices=bool(bounds["has_slices"][0]),
        sampled=sampled,
        build=str(bounds["build"][0] or ""),
        asleep=asleep,
    )


def _load_sched(session: TraceSession, start_ns: int, end_ns: int, count: int) -> SchedSlices:
    """In pages of time, so that no single answer gets too large for the protocol, nor for the memory."""
    page_count = 1 + count // _PAGE_ROWS
    edges = [start_ns + (end_ns + 1 - start_ns) * page // page_count for page in range(page_count + 1)]
    ts, dur, cpu, utid = columns = [np.empty(count, np.int64) for _ in _SLICE_SCHEMA]
    filled = 0
    for begin, end in pairwise(edges):
        page = session.query(statement("sched_slices", first_ns=begin, last_ns=end - 1), _SLICE_SCHEMA)
        for column, name in zip(columns, _SLICE_SCHEMA, strict=True):
            column[filled : filled + len(page)] = page[name]
        filled += len(page)
    ts, dur, cpu, utid = (column[:filled] for column in columns)
    end_of = close(ts, dur, cpu, end_ns)
    last_event_ns = max(start_ns, int(ts.max(initial=start_ns)), int((ts + dur)[dur >= 0].max(initial=start_ns)))
    return SchedSlices(ts, end_of, cpu, utid, last_event_ns)


def _awake(sched: SchedSlices, asleep: Asleep) -> SchedSlices:
    """What ran while the device was awake: who was on a core as it went to sleep did not run until it woke up."""
    row, start, end = awake_parts(sched.start_ns, sched.end_ns, asleep)
    order = np.argsort(start, kind="stable")
    row = row[order]
    return SchedSlices(start[order], end[order], sched.cpu[row], sched.utid[row], sched.last_event_ns)


def close(ts: np.ndarray, dur: np.ndarray, cpu: np.ndarray, end_ns: int) -> np.ndarray:
    """Ends of slices. One whose end was not recorded (dur < 0) lasts until its core's next slice, else to the
    trace's end.

    Args:
        ts, dur, cpu: (n,) int64.
        end_ns: of the trace.
    """
    end: np.ndarray = ts + dur
    is_open = dur < 0
    for core in np.unique(cpu[is_open]).tolist():
        own = np.flatnonzero(cpu == core)
        own = own[np.argsort(ts[own], kind="stable")]
        following = np.append(ts[own[1:]], end_ns)
        end[own] = np.where(is_open[own], following, end[own])
    return end
