"""Events of a trace by type and window of time: what a trace is judged by before it is cut.

A type is what happened, the process and the thread, with `#` for every number: the 63 most frequent of the reference,
and `other`. Two passes over the file: the first reads packets' headers only and the events of the reference, the second
counts. Both in bounded memory, but for 130 bytes per window (260 where one needs it) and 260 per second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from perfreg_assets.methods.app_load import Load, LoadLimits
from perfreg_assets.methods.thread_times import UNKNOWN, entity_name
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.build_fingerprint import device_of
from perfreg_assets.traces.packets import CLOCK_SNAPSHOT, PROCESS_TREE, TRACK_DESCRIPTOR, Block, flat_blocks, scanner
from perfreg_assets.traces.second_use import SECOND_NS, SecondUse, SecondUses
from perfreg_assets.traces.trace_clock import BOOT, TraceClock

Counts = NDArray[np.unsignedinteger[Any]]
"""Of events, (windows, types + 1)."""
TYPE_COUNT = 63
SYSTEM_INFO, _FIRST_PROCESS = 45, 1
OTHER = "other"
# Packets that describe and are no events: they come when they please.
_DESCRIBING = frozenset({2, 6, 12, 33, 34, 35, 36, 43, 44, 45, 47, 50, 51, 60, 67, 69, 72, 82, 89, 124, 126, 128})


@dataclass(frozen=True, order=True)
class EventType:
    """`what`: name of a kernel event, letter of an atrace section, system call, packet; the others with `#`."""

    what: str
    process: str
    thread: str

    @property
    def key(self) -> int:
        """Number by which the kernels know it."""
        process = scanner.name_hash(self.process.encode()) if self.process != UNKNOWN else 0
        thread = scanner.name_hash(self.thread.encode()) if self.thread != UNKNOWN else 0
        return int(scanner.event_key(_kind_of(self.what), process, thread))

    def __str__(self) -> str:
        return f"{self.what} {self.process}/{self.thread}"


@dataclass
class EventWindows:
    """Attributes:
    start_ns, window_ns: of the first window on the trace's clock; length of each.
    end_ns: last event.
    types: of the columns of `counts` but the last one, which is `other`.
    counts: (windows, types + 1) unsigned, as wide as the largest needs.
    strange: (windows,) uint32, events of types that the reference never had; 0 where nobody knows what it had.
    is_lossy: (windows,) the recording says that events before or in it are lost.
    is_suspended: (windows,) the device slept for a part of it.
    bundles: (bundles, 5) first and last time of each bundle of kernel events, in the file's order, its core, and first
        and last switch of threads; -1 without.
    unplaced_count: events before the start, or on a clock that nothing tells of.
    broken_count: bundles that are no protobuf.
    use: what happened in each second.
    thread_names: hashes of what threads are called that switched or woke.
    """

    start_ns: int
    window_ns: int
    end_ns: int
    types: tuple[EventType, ...]
    counts: Counts
    strange: NDArray[np.uint32]
    is_lossy: NDArray[np.bool_]
    is_suspended: NDArray[np.bool_]
    bundles: NDArray[np.int64]
    unplaced_count: int
    broken_count: int
    use: SecondUse
    thread_names: frozenset[int] = frozenset()

    def has_thread(self, name: str) -> bool:
        """Whether a thread switched or woke that is called so, but for its numbers."""
        return scanner.name_hash(name.encode()) in self.thread_names

    def within(self, span: tuple[int, int] | None) -> EventWindows:
        """The whole windows that lie in [start, end); all of them for None."""
        if span is None:
            return self
        inside = self.is_within(span)
        first = self.start_ns + int(np.argmax(inside)) * self.window_ns
        chosen = self.counts[inside], self.is_lossy[inside], self.is_suspended[inside], self.strange[inside]
        return replace(
            self, start_ns=first, end_ns=min(self.end_ns, span[1]),
            counts=chosen[0], is_lossy=chosen[1], is_suspended=chosen[2], strange=chosen[3],
        )  # fmt: skip

    def is_within(self, span: tuple[int, int] | None) -> NDArray[np.bool_]:
        """(windows,) Which lie wholly in [start, end); all for None."""
        starts = self.starts_ns()
        if span is None:
            return np.ones(len(starts), np.bool_)
        return (starts >= span[0]) & (starts + self.window_ns <= span[1])

    def load(self, app: str, span: tuple[int, int] | None = None) -> Load:
        """What an app uses in the whole seconds that lie in a span; None: in all."""
        return self.use.load(app).within(*self._seconds_of(span))

    def _seconds_of(self, span: tuple[int, int] | None) -> tuple[int, int]:
        """[first, last) of the whole seconds that lie in a span."""
        count = len(self.use)
        if span is None:
            return 0, count
        first, last = -(-(span[0] - self.use.start_ns) // SECOND_NS), (span[1] - self.use.start_ns) // SECOND_NS
        return min(max(first, 0), count), min(max(last, 0), count)

    def load_excess(self, limits: LoadLimits | None, span: tuple[int, int] | None = None) -> NDArray[np.float64]:
        """(windows,) By what factor an app uses more than the limits: the most of the seconds that a window is in, a
        part of it or all; 0 behind the last second, in seconds that do not lie in the span, and without limits."""
        if limits is None:
            return np.zeros(len(self.counts))
        first_s, last_s = self._seconds_of(span)
        excess = np.zeros(len(self.use))
        excess[first_s:last_s] = limits.excess(self.load(limits.app, span))
        begins = self.starts_ns() - self.use.start_ns
        first, last = begins // SECOND_NS, (begins + self.window_ns - 1) // SECOND_NS
        found = np.zeros(len(begins))
        padded = np.append(excess, 0.0)
        for offset in range(int((last - first).max(initial=-1)) + 1):
            found = np.maximum(found, padded[np.minimum(np.minimum(first + offset, last), len(excess))])
        return found

    def starts_ns(self) -> NDArray[np.int64]:
        """(windows,)."""
        return self.start_ns + np.arange(len(self.counts), dtype=np.int64) * self.window_ns


@dataclass
class Survey:
    """What the first pass finds.

    Attributes:
        start_ns: earliest event.
        processes: hash of its process for each thread, see `packet_scanner.BundleScanner`.
        suspended: [start, end) in which the device slept.
        build: fingerprint of the Android build; None where the trace does not say it.
        lists_processes: it has a list of all processes that there were at some moment (the first one is in it).
    """

    start_ns: int
    processes: NDArray[np.uint64]
    process_names: dict[int, str]
    suspended: list[tuple[int, int]] = field(default_factory=list)
    build: str | None = None
    lists_processes: bool = False


def survey(path: Path, max_bytes: int) -> Survey:
    """Where a trace begins and which thread is of which process.

    Raises:
        Rejected: as `packets.blocks_of`; SOURCE_MISSING where it has no events.
    """
    reader = TraceReader()
    start: int | None = None
    for block in flat_blocks(path, max_bytes):
        reader.describe(block)
        starts = [scanner.bundle_starts(block.data, block.rows[block.rows[:, scanner.FIELD] == scanner.FTRACE])]
        starts += [times for times, _ in reader.other_events(block)]
        known = np.concatenate(starts)
        known = known[known >= 0]
        if len(known):
            start = min(start, int(known.min())) if start is not None else int(known.min())
    if start is None:
        raise Rejected(Reason.SOURCE_MISSING, f"{path.name}: the trace has no events to judge by")
    return Survey(
        start, reader.processes, reader.process_names, reader.clock.suspended, reader.build, reader.lists_processes
    )


def most_frequent(totals: Mapping[EventType, int]) -> tuple[EventType, ...]:
    """The types that are told apart: the 63 most frequent, the most frequent first."""
    ranked = sorted((one for one, count in totals.items() if count), key=lambda one: (-totals[one], one))
    return tuple(ranked[:TYPE_COUNT])


def type_totals(path: Path, max_bytes: int, found: Survey, reference_ns: int) -> dict[EventType, int]:
    """How often each type occurs in the trace's first `reference_ns`.

    Raises:
        Rejected: as `survey`; TRACE_CORRUPT where a bundle of them is no protobuf.
    """
    reader = TraceReader(found)
    end = found.start_ns + reference_ns
    totals: dict[tuple[int, int, int], int] = {}
    packets: dict[int, int] = {}
    names: dict[int, str] = {0: UNKNOWN}
    for block in flat_blocks(path, max_bytes):
        reader.describe(block)
        rows = block.rows[block.rows[:, scanner.FIELD] == scanner.FTRACE]
        starts = scanner.bundle_starts(block.data, rows)
        rows = rows[(starts >= 0) & (starts < end)]
        events = reader.bundles.scan(block.data, rows)
        near = events.times < end
        kinds, tids = events.kinds[near].astype(np.int64), events.tids[near].astype(np.int64)
        pairs, counts = np.unique(kinds << 32 | tids, return_counts=True)
        try:
            reader.learn_names(block, rows, pairs & 0xFFFFFFFF, names)
        except DecodeError as error:  # the types are what all windows are judged by
            raise Rejected(Reason.TRACE_CORRUPT, f"{path.name}: a bundle of kernel events ({error})") from error
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            kind, tid = pair >> 32, pair & 0xFFFFFFFF
            key = (kind, int(reader.processes[tid]), int(reader.bundles.names[tid]))
            totals[key] = totals.get(key, 0) + count
        for times, kind in reader.other_events(block):
            packets[kind] = packets.get(kind, 0) + int((times < end).sum())
    for kind, count in packets.items():
        totals[kind, 0, 0] = totals.get((kind, 0, 0), 0) + count
    merged: dict[EventType, int] = {}
    for (kind, process, thread), count in totals.items():
        one = EventType(_what(kind), found.process_names.get(process, UNKNOWN), names.get(thread, UNKNOWN))
        merged[one] = merged.get(one, 0) + count
    return merged


def as_stored(types: Iterable[EventType]) -> list[list[str]]:
    """[what, process, thread] of each, as JSON and tables hold them."""
    return [[one.what, one.process, one.thread] for one in types]


def from_stored(stored: Iterable[Sequence[str]]) -> tuple[EventType, ...]:
    """The types that `as_stored` was given."""
    return tuple(EventType(*one) for one in stored)


def count_events(
    path: Path,
    max_bytes: int,
    found: Survey,
    types: Sequence[EventType],
    window_ns: int,
    sequences: set[int] | None = None,
    *,
    seen: Iterable[EventType] | None = None,
    seconds_from_ns: int | None = None,
) -> EventWindows:
    """Events of known types by window over a whole trace, from `found.start_ns` on.

    Args:
        sequences: that packets came of before this trace's begin; those in it are added.
        seen: all types that the reference had; None: nobody knows.
        seconds_from_ns: a second begins there, and so whole seconds later; None: at the first window.

    Raises:
        Rejected: as `survey`.
    """
    reader = TraceReader(found)
    if sequences is not None:
        reader.sequences = sequences
    keys = np.array([one.key for one in types], np.uint64)
    start = found.start_ns
    second_start = start - (start - seconds_from_ns) % SECOND_NS if seconds_from_ns is not None else start
    others = [one.key for one in seen or ()]
    counter = scanner.WindowCounter(keys, found.start_ns, window_ns, second_start, others=others)
    spans: list[NDArray[np.int64]] = []
    lossy: list[int] = []
    unplaced = broken = 0
    end = found.start_ns
    uses = SecondUses(found.start_ns, found.processes, found.process_names, second_start)
    for block in flat_blocks(path, max_bytes):
        reader.describe(block)
        events = reader.bundles.scan(block.data, block.rows[block.rows[:, scanner.FIELD] == scanner.FTRACE])
        unplaced += counter.add(events.times, events.keys)
        uses.add(block, reader.times, events)
        broken += int(events.is_broken.sum())
        spans.append(
            np.stack([events.first, events.last, events.core, events.first_switch, events.last_switch], axis=1)
        )
        lossy += events.first[events.is_lossy & (events.first >= 0)].tolist()
        end = max(end, int(events.last.max(initial=-1)))
        for times, kind in reader.other_events(block):
            placed = times[times >= 0]
            unplaced += len(times) - len(placed)
            key = np.uint64(scanner.event_key(kind, 0, 0))
            unplaced += counter.add(placed, np.full(len(placed), key))
            end = max(end, int(placed.max(initial=-1)))
        lossy += reader.dropped_at(block)
    count = counter.window_count
    is_lossy = np.zeros(count, np.bool_)
    places = (np.array(lossy, np.int64) - found.start_ns) // window_ns
    is_lossy[places[(places >= 0) & (places < count)]] = True
    is_suspended = np.zeros(count, np.bool_)
    for begin, stop in found.suspended:
        is_suspended[
            max(0, (begin - found.start_ns) // window_ns) : max(0, -(-(stop - found.start_ns) // window_ns))
        ] = 1
    return EventWindows(
        found.start_ns, window_ns, end, tuple(types), counter.counts[:count],
        counter.strange[:count, 0] * np.uint32(seen is not None), is_lossy, is_suspended,
        np.concatenate(spans) if spans else np.empty((0, 5), np.int64), unplaced, broken,
        uses.told(end, counter.seconds), frozenset(np.unique(reader.bundles.names[reader.bundles.names > 0]).tolist()),
    )  # fmt: skip


class TraceReader:
    """What is known of clocks, threads and sequences on the way through a trace."""

    def __init__(self, found: Survey | None = None) -> None:
        self.clock = TraceClock()
        self.bundles = scanner.BundleScanner()
        self.process_names: dict[int, str] = {}
        self.defaults: dict[int, int] = {}
        self.times = np.empty(0, np.int64)
        self.sequences: set[int] = set()
        self.build: str | None = None
        self.lists_processes = False
        if found is not None:
            self.bundles.processes = found.processes
            self.process_names = found.process_names
        self._is_settled = found is not None

    @property
    def processes(self) -> NDArray[np.uint64]:
        """See `packet_scanner.BundleScanner`."""
        found: NDArray[np.uint64] = self.bundles.processes
        return found

    def describe(self, block: Block) -> None:
        """Takes in what packets tell of clocks, processes and sequences, and places the packets in time."""
        fields = block.rows[:, scanner.FIELD]
        self.times = self._place(block)
        if not self._is_settled:
            _try_each(fields == PROCESS_TREE, lambda number: self._take_processes(block.payload(number)))
            _try_each(fields == TRACK_DESCRIPTOR, lambda number: self._take_track(block.payload(number)))
            _try_each(fields == SYSTEM_INFO, lambda number: self._take_system(block.payload(number)))

    def other_events(self, block: Block) -> Iterator[tuple[NDArray[np.int64], int]]:
        """Times and kind of the packets that are events themselves; -1 for a time on an unknown clock."""
        rows = block.rows
        chosen = (rows[:, scanner.TIMESTAMP] >= 0) & (rows[:, scanner.FIELD] > scanner.FTRACE)
        chosen &= ~np.isin(rows[:, scanner.FIELD], list(_DESCRIBING))
        rows, times = rows[chosen], self.times[chosen]
        if not len(rows):
            return
        types = np.zeros(len(rows), np.int64)
        of_tracks = rows[:, scanner.FIELD] == scanner.TRACK_EVENT
        if of_tracks.any():
            types[of_tracks] = scanner.scan_track_events(block.data, rows[of_tracks])[0]
        kinds = np.where(of_tracks, scanner.TRACK_KIND + types, scanner.PACKET_KIND + rows[:, scanner.FIELD])
        for kind in np.unique(kinds).tolist():
            yield times[kinds == kind], kind

    def _place(self, block: Block) -> NDArray[np.int64]:
        """Times of packets on the trace's clock, -1 without one or on a clock that nothing tells of."""
        rows = block.rows
        times = rows[:, scanner.TIMESTAMP].copy()
        telling = (rows[:, scanner.FIELD] == CLOCK_SNAPSHOT) | ((rows[:, scanner.FLAGS] & scanner.DEFAULTS) != 0)
        begin = 0
        for number in np.flatnonzero(telling).tolist():
            self._convert(times[begin:number], rows[begin:number])
            self._take_telling(block, number)
            begin = number
        self._convert(times[begin:], rows[begin:])
        return times

    def _take_telling(self, block: Block, number: int) -> None:
        try:
            if block.rows[number, scanner.FIELD] == CLOCK_SNAPSHOT:
                self.clock.learn(block.payload(number), int(block.rows[number, scanner.SEQUENCE]))
            if block.rows[number, scanner.FLAGS] & scanner.DEFAULTS:
                self._take_defaults(block.message(number))
        except DecodeError:
            return

    def _convert(self, times: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Changes times of the clocks that packets name, or their sequences' defaults, to the trace's."""
        clocks = rows[:, scanner.CLOCK].copy()
        for number in np.flatnonzero(clocks < 0).tolist() if self.defaults else ():
            clocks[number] = self.defaults.get(int(rows[number, scanner.SEQUENCE]), scanner.NONE)
        clocks[clocks < 0] = BOOT
        foreign = (clocks != self.clock.base) & (times >= 0)
        if foreign.any():
            places = np.stack([clocks[foreign], rows[foreign, scanner.SEQUENCE]], axis=1)
            numbers = np.flatnonzero(foreign)
            for clock, sequence in np.unique(places, axis=0).tolist():
                of_clock = numbers[(places == (clock, sequence)).all(axis=1)]
                converted = self.clock.to_trace(times[of_clock], clock, sequence)
                times[of_clock] = scanner.NONE if converted is None else converted

    def dropped_at(self, block: Block) -> list[int]:
        """Times of the packets before which others are lost."""
        found: list[int] = []
        for number in np.flatnonzero((block.rows[:, scanner.FLAGS] & scanner.DROPPED) != 0).tolist():
            # Before the first packet of a sequence everything is "lost".
            if int(block.rows[number, scanner.SEQUENCE]) in self.sequences and self.times[number] >= 0:
                found.append(int(self.times[number]))
        self.sequences.update(np.unique(block.rows[:, scanner.SEQUENCE]).tolist())
        return found

    def learn_names(
        self, block: Block, rows: NDArray[np.int64], tids: NDArray[np.int64], names: dict[int, str]
    ) -> None:
        """Adds what threads of some bundles are called: hash of the name → name with `#`.

        Raises:
            google.protobuf.message.DecodeError
        """
        if set(self.bundles.names[tids].tolist()) <= set(names):
            return
        for row in rows:
            payload = block.data[row[scanner.AT] : row[scanner.AT] + row[scanner.LENGTH]].tobytes()
            for raw in _comms(payload):
                names.setdefault(scanner.name_hash(raw), entity_name(raw.decode("utf-8", "replace")))

    def _take_defaults(self, message: bytes) -> None:
        packet = proto.TracePacket.FromString(message)
        if packet.trace_packet_defaults.timestamp_clock_id:
            sequence = packet.trusted_packet_sequence_id
            self.defaults[sequence] = packet.trace_packet_defaults.timestamp_clock_id

    def _take_processes(self, payload: bytes) -> None:
        tree = proto.ProcessTree.FromString(payload)
        for process in tree.processes:
            self.lists_processes |= process.pid == _FIRST_PROCESS
            self._name(process.pid, process.cmdline[0] if process.cmdline else "")
        for thread in tree.threads:
            self._join(thread.tid, thread.tgid)

    def _take_track(self, payload: bytes) -> None:
        track = proto.TrackDescriptor.FromString(payload)
        if track.HasField("process"):
            self._name(track.process.pid, track.process.process_name)
        if track.HasField("thread"):
            self._join(track.thread.tid, track.thread.pid)

    def _take_system(self, payload: bytes) -> None:
        told = proto.SystemInfo.FromString(payload).android_build_fingerprint
        self.build = told if device_of(told) is not None else self.build

    def _join(self, tid: int, pid: int) -> None:
        if 0 <= tid < scanner.MAX_TID and 0 <= pid < scanner.MAX_TID:
            self.processes[tid] = self.processes[pid]

    def _name(self, pid: int, name: str) -> None:
        if name and 0 <= pid < scanner.MAX_TID:
            value = scanner.name_hash(name.encode())
            self.processes[pid] = value
            self.process_names[value] = entity_name(name)


def _comms(payload: bytes) -> Iterable[bytes]:
    bundle = proto.FtraceEventBundle.FromString(payload)
    yield from (name.encode() for name in bundle.compact_sched.intern_table)
    for event in bundle.event:
        if event.HasField("sched_switch"):
            yield event.sched_switch.next_comm.encode()
        for name in ("sched_waking", "sched_wakeup", "sched_wakeup_new"):
            if event.HasField(name):
                yield getattr(event, name).comm.encode()


def _try_each(numbers: NDArray[np.bool_], take: Callable[[int], None]) -> None:
    """Decodes the packets of a mask; one that is no protobuf tells nothing, as the trace processor takes it."""
    for number in np.flatnonzero(numbers).tolist():
        try:
            take(number)
        except DecodeError:
            continue


@cache
def _ftrace_names() -> dict[int, str]:
    return {one.number: one.name for one in proto.FtraceEvent.DESCRIPTOR.fields}


@cache
def _packet_names() -> dict[int, str]:
    return {one.number: one.name for one in proto.TracePacket.DESCRIPTOR.fields}


def _what(kind: int) -> str:
    if kind >= scanner.PACKET_KIND:
        number = kind - scanner.PACKET_KIND
        return f"packet:{_packet_names().get(number, number)}"
    if kind >= scanner.TRACK_KIND:
        return f"track:{kind - scanner.TRACK_KIND}"
    if kind >= scanner.SYSCALL_KIND:
        return f"syscall:{kind - scanner.SYSCALL_KIND}"
    if kind >= scanner.PRINT_KIND:
        return f"print:{kind - scanner.PRINT_KIND}"
    return _ftrace_names().get(kind, str(kind))


@cache
def _kind_of(what: str) -> int:
    family, _, number = what.partition(":")
    bases = {
        "packet": scanner.PACKET_KIND,
        "track": scanner.TRACK_KIND,
        "syscall": scanner.SYSCALL_KIND,
        "print": scanner.PRINT_KIND,
    }
    if family in bases:
        names = {name: key for key, name in _packet_names().items()} if family == "packet" else {}
        return int(bases[family]) + (names[number] if number in names else int(number))
    names = {name: key for key, name in _ftrace_names().items()}
    return names[what] if what in names else int(what)
