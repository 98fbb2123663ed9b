"""What profiles beside a trace tell about stretches of it, placed by the monotonic clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from perfreg_assets.methods.thread_times import SECOND_NS, entity_name
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces.clock_snapshots import ClockSnapshots
from perfreg_assets.traces.columns import Table
from perfreg_assets.traces.contents import load_contents
from perfreg_assets.traces.engine import once_more, open_trace
from perfreg_assets.traces.engines import Engines
from perfreg_assets.traces.method_traces import method_times
from perfreg_assets.traces.names import Names
from perfreg_assets.traces.profile_files import HEAD_BYTES, PERF_MAGIC, TEXT_MAGICS, ProfileFile
from perfreg_assets.traces.simpleperf import Report, read_report
from perfreg_assets.traces.simpleperf_text import read_text_report
from perfreg_assets.traces.slices import SLICE_SCHEMA, Range
from perfreg_assets.traces.stacks import CLOCKS, SECONDS, STACK_SCHEMA, StackTimes, stack_times
from perfreg_assets.traces.statements import statement
from perfreg_assets.traces.trace_file import unpacked_chunks

Owner = tuple[bool, str, str]
"""Whether it is the app's, and the names of process and thread."""
_NOT_OF_THE_FILE = {Reason.ENGINE_UNAVAILABLE, Reason.EXCHANGE_UNAVAILABLE}


@dataclass(frozen=True)
class UnreadProfile:
    """A profile that cannot be used, and why."""

    name: str
    kind: str
    why: str


@dataclass
class Profiles:
    """Attributes:
    methods: as `slices.SLICE_SCHEMA`. stacks: as `stacks.STACK_SCHEMA`. Both by ranges of the trace.
    covered: kind of profile → stretches of the trace's time that files of the kind tell of.
    unread: those that cannot be used.
    method_clock: what `methods` tell, `wall` time or time on a core (`thread-cpu`); empty without any.
    """

    methods: pa.Table = field(default_factory=SLICE_SCHEMA.empty_table)
    stacks: pa.Table = field(default_factory=STACK_SCHEMA.empty_table)
    covered: dict[str, list[Range]] = field(default_factory=dict)
    unread: list[UnreadProfile] = field(default_factory=list)
    method_clock: str = ""
    clipped_count: int = 0
    sample_count: int = 0
    without_stack_count: int = 0


def read_profiles(
    files: Sequence[ProfileFile],
    app: str,
    ranges: Sequence[Range],
    clock: ClockSnapshots | None,
    owners: Mapping[int, Owner],
    settings: Settings,
    engines: Engines | None,
) -> Profiles:
    """All profiles of a run. One that cannot be read says why, and takes nothing from the others.

    Args:
        ranges: (start_ns, end_ns) in trace time.
        clock: the monotonic clock in the trace; None where the trace does not tell of it.
        owners: thread number → whose it is by the trace.

    Raises:
        Rejected: ENGINE_UNAVAILABLE, EXCHANGE_UNAVAILABLE.
    """
    found = Profiles()
    for one in files:
        try:
            if clock is None:
                raise Rejected(Reason.PROFILE_NOT_PLACED, one.name)
            with one.place as path:
                _Reading(found, one, path, app, ranges, clock, owners, settings, engines).add()
        except (Rejected, OSError) as error:
            if isinstance(error, Rejected) and error.reason in _NOT_OF_THE_FILE:
                raise
            found.unread.append(UnreadProfile(one.name, one.kind, str(error)))
    return found


@dataclass(frozen=True)
class _Reading:
    """Of one file, into `found`."""

    found: Profiles
    file: ProfileFile
    path: Path
    app: str
    ranges: Sequence[Range]
    clock: ClockSnapshots
    owners: Mapping[int, Owner]
    settings: Settings
    engines: Engines | None

    def add(self) -> None:
        if self.file.kind == "method_trace":
            self._add_methods()
        elif self._head().startswith(PERF_MAGIC):
            self._add_perf_data()
        elif self._head().startswith(TEXT_MAGICS):
            self._add_report(read_text_report(self._chunks(), self.file.name))
        else:
            self._add_report(read_report(self._chunks(), self.file.name))

    def _add_methods(self) -> None:
        content = b"".join(self._chunks())
        times, covered, clock = method_times(content, self.file.name, self.app, self._moments())
        if self.found.method_clock not in ("", clock):
            raise Rejected(
                Reason.PROFILE_CLOCKS_DIFFER, f"{self.file.name} tells {clock}, another one {self.found.method_clock}"
            )
        self.found.method_clock = clock
        self.found.methods = pa.concat_tables([self.found.methods, times.rows])
        self.found.clipped_count += times.clipped_count
        self._cover(*covered)

    def _add_perf_data(self) -> None:
        stacks, bounds = once_more(self._sampled)
        self.found.sample_count += stacks.sample_count
        self.found.without_stack_count += stacks.without_stack_count
        self._add_stacks(stacks.rows)
        (first,), (last,) = bounds["first_ns"].tolist(), bounds["last_ns"].tolist()
        if first is not None and last is not None:
            self._cover(first, last)

    def _sampled(self) -> tuple[StackTimes, Table]:
        with open_trace(self.path, self.settings, self.engines) as session:
            contents = load_contents(session, with_sched=False)
            names = _OfTrace(contents, self.app, self.owners)
            stacks = stack_times(session, names, self._moments())
            bounds = session.query(statement("perf_sample_bounds"), {"first_ns": "Int64", "last_ns": "Int64"})
        return stacks, bounds

    def _add_report(self, report: Report) -> None:
        if not report.time_ns.size:
            raise Rejected(Reason.PROFILE_DAMAGED, f"{self.file.name} has no samples")
        sums: dict[tuple[int, bool, str, str, tuple[str, ...], int], list[int]] = {}
        for number, (start, end) in enumerate(self._moments()):
            inside = np.flatnonzero((report.time_ns >= start) & (report.time_ns < end))
            stacks, place = np.unique(report.stack[inside], return_inverse=True)
            counts = np.bincount(place, minlength=len(stacks)).tolist()
            events = np.bincount(place, report.event_count[inside], len(stacks)).tolist()
            for stack, count, event_count in zip(stacks.tolist(), counts, events, strict=True):
                thread, event, frames = report.stacks[stack]
                self.found.sample_count += count
                if not frames:
                    self.found.without_stack_count += count
                    continue
                path = tuple(report.name(frame) for frame in reversed(frames))
                total = sums.setdefault((number, *self._owner(report, thread), path, event), [0, 0])
                total[0] += count
                total[1] += int(event_count)
        rows = [
            (number, "simpleperf", is_app, process, name, list(path), count, *_worth(report, event, events))
            for (number, is_app, process, name, path, event), (count, events) in sorted(sums.items())
        ]
        columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in STACK_SCHEMA]
        self._add_stacks(pa.table(columns, schema=STACK_SCHEMA))
        self._cover(int(report.time_ns.min()), int(report.time_ns.max()))

    def _owner(self, report: Report, thread: int) -> Owner:
        if thread in self.owners:
            return self.owners[thread]
        _, name = report.threads.get(thread, (None, None))
        is_app = report.app == self.app
        return is_app, entity_name(self.app if is_app else None), entity_name(name)

    def _add_stacks(self, rows: pa.Table) -> None:
        units = set(rows.column("unit").to_pylist())
        if units and SECONDS not in units:
            raise Rejected(Reason.PROFILE_NOT_OF_TIME, f"{self.file.name} counts {' and '.join(_named(units))}")
        self.found.stacks = pa.concat_tables([self.found.stacks, rows])

    def _moments(self) -> list[Range]:
        """The ranges on the profile's clock."""
        starts, ends = (
            self.clock.to_clock(np.array([one[k] for one in self.ranges], np.int64)).tolist() for k in (0, 1)
        )
        return list(zip(starts, ends, strict=True))

    def _cover(self, first_ns: int, last_ns: int) -> None:
        first, last = self.clock.to_trace(np.array([first_ns, last_ns], np.int64)).tolist()
        self.found.covered.setdefault(self.file.kind, []).append((first, last))

    def _chunks(self) -> Iterator[bytes]:
        return unpacked_chunks(self.path, self.settings.trace_max_bytes)

    def _head(self) -> bytes:
        return next(self._chunks(), b"")[:HEAD_BYTES]


@dataclass(frozen=True)
class _OfTrace(Names):
    """Threads are whose the trace says they are; those that it does not know, whose the profile says."""

    owners: Mapping[int, Owner]

    def thread(self, utid: int | None) -> Owner:
        owner = self.owners.get(self._tids.get(utid, 0))
        return super().thread(utid) if owner is None else owner

    @property
    def _tids(self) -> dict[int | None, int]:
        threads = self.contents.threads
        return dict(zip(threads["utid"].tolist(), threads["tid"].tolist(), strict=True))


def _named(units: Iterable[str]) -> list[str]:
    return sorted(unit or "events without a name" for unit in units)


def _worth(report: Report, event: int, count: int) -> tuple[float, str]:
    """What so many events stand for, and in which unit: seconds of a clock, else the events themselves."""
    name = report.event_types[event] if event < len(report.event_types) else "events"
    return (count / SECOND_NS, SECONDS) if name.partition(":")[0] in CLOCKS else (float(count), name)
