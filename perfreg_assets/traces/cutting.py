"""Cuts stretches of time out of a Perfetto trace: whole packets are copied byte for byte or left out.

What a packet needs to be understood stays with it:

* Configuration, clocks, processes, tracks, statistics: kept.
* A bundle of kernel events: kept as a whole if an event of it is in a kept stretch; it has its own table of names. So
  are those of each core that tell which thread ran when the stretch began, and until when the last one ran. Its atrace
  marks and values of the kernel's counters (frequencies, idle states, memory) outside of the stretches go, but for
  begin and end of what overlaps one and the value a counter holds: these are kept of other bundles as well, each event
  byte for byte, so that sections and counters inside are what they were.
* Polls (process_stats, sys_stats, battery, power rails): those in a stretch, the last one before it (a counter holds
  its value; of process_stats, which tells what has changed, the last one of each process and counter), and the first of
  each sequence, which may name the counters.
* Track events: begin and end of each slice that overlaps a stretch; instants and counters inside. Frame timelines
  likewise by their cookie. Legacy track events are kept, since their place is written elsewhere.
* Samples, logs and other events: those inside.
* Packets with interned data or defaults of a sequence, and those that clear them: kept where anything of the sequence
  until the next clear is; outside of the stretches without their payload. So are all packets of a sequence whose
  timestamps are differences.
* What is not known: kept, and counted. Packets of compressed packets (deflate, zstd) are unpacked, cut and packed
  again, with deflate, which every Perfetto reads.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from perfreg_assets.methods.lazy import LazyModule
from perfreg_assets.traces.event_types import TraceReader
from perfreg_assets.traces.packets import Block, blocks_of, flat_blocks, framed, inflated, packed_packets, scanner
from perfreg_assets.traces.rpc_envelope import field as encoded
from perfreg_assets.traces.rpc_envelope import fields
from perfreg_assets.traces.second_use import PROCESS_STATS

atrace_pairs = LazyModule("perfreg_assets.methods.atrace_pairs")

_KEPT = frozenset(
    {2, 6, 33, 34, 35, 36, 43, 44, 45, 46, 47, 51, 60, 61, 64, 67, 69, 70, 72, 82, 89, 115, 124, 126, 128}
)
_POLLS = frozenset({7, 9, 38, 40, 71, 73, 77, 91})
_EVENTS = frozenset({11, 37, 39, 48, 49, 52, 53, 57, 62, 63, 65, 66, 68, 74, 75, 76, 78, 84, 135})
_FRAME_TIMELINE, _FRAME_END = 76, 5
_BEGIN, _END = 1, 2
_EVENTS_OF_BUNDLE = frozenset({2, 4})  # ftrace_event_bundle.proto: event, compact_sched
_MARKS_AT_ONCE = 2_000_000
_CORES_APART_NS = 30_000_000_000  # bundles of different cores lie closer in a trace than that
_STATEFUL = 7  # packet_scanner.INTERNED | CLEARED | DEFAULTS

Stretches = Sequence[tuple[int, int]]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Cut:
    """What became of a trace.

    Attributes:
        packet_count, kept_count: packets, those in packets of compressed ones counted one by one.
        stripped_count: kept without their payload, or without some of its events.
        unknown: number of a payload that is not known → how many packets were kept for that.
        bytes_after: of the trace that was written, unpacked.
        bundle_count: kept bundles of kernel events.
    """

    packet_count: int
    kept_count: int
    stripped_count: int
    unknown: dict[int, int]
    bytes_after: int
    bundle_count: int


@dataclass
class _Plan:
    """Numbers of packets that are kept although they lie outside, and of what sequences anything is kept."""

    extras: set[int] = field(default_factory=set)
    needed: set[tuple[int, int]] = field(default_factory=set)  # sequence, how many clears before
    incremental: set[int] = field(default_factory=set)
    marks: dict[int, set[int]] = field(default_factory=dict)  # bundle → its marks that are needed though outside


class _Inside:
    """Which times and spans lie in the kept stretches."""

    def __init__(self, stretches: Stretches) -> None:
        self.starts = np.array([start for start, _ in stretches], np.int64)
        self.ends = np.array([end for _, end in stretches], np.int64)

    def times(self, times: NDArray[np.int64]) -> Bools:
        return self.spans(times, times)

    def spans(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> Bools:
        place = np.searchsorted(self.ends, first, side="right")
        found: Bools = (place < len(self.ends)) & (first >= 0)
        found[found] = self.starts[place[found]] <= last[found]
        return found

    def wholly(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> Bools:
        """Which spans lie in one stretch with both ends."""
        place = np.searchsorted(self.ends, first, side="right")
        found: Bools = (place < len(self.ends)) & (first >= 0)
        found[found] = (self.starts[place[found]] <= first[found]) & (last[found] < self.ends[place[found]])
        return found

    def borders(self, bundles: NDArray[np.int64]) -> Bools:
        """(bundles,) Those that tell, of each core, which thread ran when a stretch begins, and until when the last one
        of a stretch ran."""
        found = np.zeros(len(bundles), np.bool_)
        for core in np.unique(bundles[:, 2]).tolist():
            own = np.flatnonzero((bundles[:, 2] == core) & (bundles[:, 3] >= 0))
            if not len(own):
                continue
            own = own[np.argsort(bundles[own, 3], kind="stable")]
            before = np.searchsorted(bundles[own, 3], self.starts, side="right") - 1
            after = np.searchsorted(np.maximum.accumulate(bundles[own, 4]), self.ends, side="left")
            found[own[before[before >= 0]]] = True
            # The trace processor drops the first switch of each core that is written compactly.
            found[own[before[before >= 1] - 1]] = True
            found[own[after[after < len(own)]]] = True
        return found

    def next_of(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of the stretch that begins next."""
        return np.searchsorted(self.starts, times, side="right")


def cut_trace(
    path: Path,
    max_bytes: int,
    stretches: Stretches,
    bundles: NDArray[np.int64],
    write: Callable[[bytes], object],
    *,
    goes_on: bool = False,
) -> Cut:
    """Writes the cut trace, unpacked.

    Args:
        goes_on: more packets will follow, so that all which they may need to be understood stays: of each sequence, and
            of bundles that are left out how processes and threads began, ended and got their names.
        stretches: [start, end) on the trace's clock, ascending, without overlap.
        bundles: (bundles, 5) from `event_types.count_events` of the same file.

    Raises:
        Rejected: as `packets.blocks_of`.
    """
    inside = _Inside(stretches)
    plan = _planned(path, max_bytes, inside, bundles, goes_on=goes_on)
    cutter = _Cutter(plan, inside, bundles)
    size = 0
    for block in blocks_of(path, max_bytes):
        begin = 0
        for number in packed_packets(block):
            pieces = [cutter.cut(Block(block.data, block.rows[begin:number]))]
            kept = cutter.cut(inflated(block, number, path.name))
            if kept:
                packed = zlib.compress(kept)
                pieces.append(framed(encoded(scanner.COMPRESSED, packed)))
            for piece in pieces:
                write(piece)
                size += len(piece)
            begin = number + 1
        piece = cutter.cut(Block(block.data, block.rows[begin:]))
        write(piece)
        size += len(piece)
    return Cut(cutter.number, cutter.kept_count, cutter.stripped_count, dict(cutter.unknown), size, cutter.bundle_count)


class _Walk:
    """Goes through a trace's packets in their order, with what is needed to place each."""

    def __init__(self, inside: _Inside, bundles: NDArray[np.int64]) -> None:
        self.reader = TraceReader()
        self.inside = inside
        self.number = 0
        self.unknown: Counter[int] = Counter()
        self._spans = bundles[:, :2]
        self._is_border = inside.borders(bundles)
        self.bundle = 0
        self._clears: Counter[int] = Counter()

    def place(self, block: Block) -> tuple[NDArray[np.int64], Bools, NDArray[np.int64]]:
        """(times, whether each packet is kept for itself, clears of its sequence up to it), each (n,)."""
        rows = block.rows
        self.reader.describe(block)
        times = self.reader.times
        kinds = rows[:, scanner.FIELD]
        of_ftrace = kinds == scanner.FTRACE
        count = int(of_ftrace.sum())
        here = slice(self.bundle, self.bundle + count)
        spans, is_border = self._spans[here], self._is_border[here]
        self.bundle += count
        kept = np.isin(kinds, list(_KEPT))
        kept[of_ftrace] = self.inside.spans(spans[:, 0], spans[:, 1]) | is_border
        known = np.isin(kinds, [*_EVENTS, *_POLLS])
        has_no_place = known & (times < 0)
        kept |= known & self.inside.times(times)
        strange = ~known & ~kept & ~of_ftrace & (kinds > 0)
        kept |= strange | has_no_place
        for kind, many in zip(*np.unique(kinds[strange | has_no_place], return_counts=True), strict=True):
            self.unknown[int(kind)] += int(many)
        if (rows[:, scanner.FLAGS] & (scanner.BROKEN | scanner.SEVERAL)).any():
            kept |= (rows[:, scanner.FLAGS] & (scanner.BROKEN | scanner.SEVERAL)) != 0
        return times, kept, self._clears_of(rows)

    @property
    def generations(self) -> dict[int, int]:
        """Clears so far of each sequence."""
        return dict(self._clears)

    def _clears_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        found = np.zeros(len(rows), np.int64)
        cleared = (rows[:, scanner.FLAGS] & scanner.CLEARED) != 0
        sequences = rows[:, scanner.SEQUENCE]
        for sequence in np.unique(sequences).tolist():
            own = sequences == sequence
            found[own] = self._clears[sequence] + np.cumsum(cleared[own])
            self._clears[sequence] += int(cleared[own].sum())
        return found


def _planned(path: Path, max_bytes: int, inside: _Inside, bundles: NDArray[np.int64], *, goes_on: bool) -> _Plan:
    walk, plan, slices, marks = (
        _Walk(inside, bundles),
        _Plan(),
        _OpenSlices(inside),
        _Marks(inside, keeps_lives=goes_on),
    )
    last_polls: dict[tuple[int, int, int, object], tuple[int, tuple[int, int]]] = {}
    for block in flat_blocks(path, max_bytes):
        times, kept, clears = walk.place(block)
        rows = block.rows
        for number in np.flatnonzero(np.isin(rows[:, scanner.FIELD], list(_POLLS)) & (times >= 0)).tolist():
            kind, sequence = int(rows[number, scanner.FIELD]), int(rows[number, scanner.SEQUENCE])
            here = walk.number + number, (sequence, int(clears[number]))
            following = int(inside.next_of(times[number : number + 1])[0])
            last_polls.setdefault((kind, sequence, -1, None), here)  # the first one names the counters
            for what in _polled(block, number) if kind == PROCESS_STATS else (None,):
                last_polls[kind, sequence, following, what] = here
        slices.take(block, times, clears, walk.number)
        marks.take(block, walk.bundle)
        for sequence, clear in np.unique(
            np.stack([rows[kept, scanner.SEQUENCE], clears[kept]], axis=1), axis=0
        ).tolist():
            plan.needed.add((sequence, clear))
        walk.number += len(rows)
    slices.finish()
    polls = [here for (_, _, following, _), here in last_polls.items() if following < len(inside.starts)]
    for number, generation in [*polls, *slices.kept]:
        plan.extras.add(number)
        plan.needed.add(generation)
    plan.marks = marks.finish()
    if goes_on:
        plan.needed |= set(walk.generations.items())
    plan.incremental = walk.reader.clock.incremental_sequences
    return plan


def _polled(block: Block, number: int) -> Iterator[object]:
    """What a poll of processes tells: only what has changed since the one before, so that each needs its own last."""
    try:
        polled = proto.ProcessStats.FromString(block.payload(number))
    except DecodeError:  # kept like any other poll
        yield None
        return
    for one in polled.processes:
        yield from ((one.pid, told.number) for told, _ in one.ListFields())


class _Marks:
    """Finds the atrace marks that are needed though they lie outside: they come by core, and are paired by time."""

    def __init__(self, inside: _Inside, *, keeps_lives: bool) -> None:
        """
        Args:
            keeps_lives: what tells that a process or thread began, ended or got its name is needed wherever it lies.
        """
        self._keeps_lives = keeps_lives
        self._lives: dict[int, set[int]] = {}
        self._pairs = atrace_pairs.MarkPairs(inside.starts, inside.ends)
        self._waiting: list[NDArray[np.int64]] = []
        self._count = 0

    def take(self, block: Block, bundle_behind: int) -> None:
        """The next packets; `bundle_behind`: the number of the first bundle behind them."""
        rows = block.rows[block.rows[:, scanner.FIELD] == scanner.FTRACE]
        if not len(rows):
            return
        found = atrace_pairs.scan_marks(block.data, rows, bundle_behind - len(rows))
        is_life = found[:, atrace_pairs.KIND] == atrace_pairs.LIFE
        if self._keeps_lives:
            for bundle, ordinal in found[is_life][:, [atrace_pairs.BUNDLE, atrace_pairs.ORDINAL]].tolist():
                self._lives.setdefault(bundle, set()).add(ordinal)
        found = found[~is_life]
        if len(found):
            self._waiting.append(found)
            self._count += len(found)
        if self._count > _MARKS_AT_ONCE:
            self._pair(_CORES_APART_NS)

    def finish(self) -> dict[int, set[int]]:
        """Bundle → needed marks."""
        self._pair(0)
        found = self._lives
        for bundle, ordinal in self._pairs.finish():
            found.setdefault(bundle, set()).add(ordinal)
        return found

    def _pair(self, apart_ns: int) -> None:
        if not self._waiting:
            return
        found = np.concatenate(self._waiting)
        found = found[np.argsort(found[:, atrace_pairs.TIME], kind="stable")]
        # What other cores recorded at that time may still come.
        until = int(np.searchsorted(found[:, atrace_pairs.TIME], found[-1, atrace_pairs.TIME] - apart_ns))
        until = len(found) if not apart_ns else until
        self._pairs.add(found[:until])
        self._waiting, self._count = [found[until:]], len(found) - until


class _OpenSlices:
    """Pairs begins and ends of slices and frames, and keeps both of those that overlap a kept stretch."""

    def __init__(self, inside: _Inside) -> None:
        self._inside = inside
        self._stacks: dict[tuple[int, int], list[tuple[int, int, tuple[int, int]]]] = {}
        self._frames: dict[int, tuple[int, int, tuple[int, int]]] = {}
        self.kept: list[tuple[int, tuple[int, int]]] = []

    def take(self, block: Block, times: NDArray[np.int64], clears: NDArray[np.int64], first: int) -> None:
        """The next packets; `first`: the number of the first of them."""
        rows = block.rows
        chosen = np.flatnonzero(rows[:, scanner.FIELD] == scanner.TRACK_EVENT)
        if len(chosen):
            types, uuids, odd = scanner.scan_track_events(block.data, rows[chosen])
            for number, kind, uuid, is_odd in zip(
                chosen.tolist(), types.tolist(), uuids.tolist(), odd.tolist(), strict=True
            ):
                sequence = int(rows[number, scanner.SEQUENCE])
                here = int(times[number]), first + number, (sequence, int(clears[number]))
                if is_odd or kind == 0:
                    self.kept.append(here[1:])
                elif kind == _BEGIN:
                    self._stacks.setdefault((uuid, 0 if uuid else sequence), []).append(here)
                elif kind == _END:
                    stack = self._stacks.get((uuid, 0 if uuid else sequence))
                    if stack:
                        self._close(stack.pop(), here)
        for number in np.flatnonzero(rows[:, scanner.FIELD] == _FRAME_TIMELINE).tolist():
            here = int(times[number]), first + number, (int(rows[number, scanner.SEQUENCE]), int(clears[number]))
            self._take_frame(block.payload(number), here)

    def _take_frame(self, payload: bytes, here: tuple[int, int, tuple[int, int]]) -> None:
        try:
            kind, message = next(iter(fields(memoryview(payload))))
            assert isinstance(message, memoryview)
            cookie = next(value for number, value in fields(message) if number == 1)
        except (ValueError, StopIteration, AssertionError):
            return
        if kind != _FRAME_END:
            self._frames[int(cookie)] = here
        elif int(cookie) in self._frames:
            self._close(self._frames.pop(int(cookie)), here)

    def finish(self) -> None:
        """At the trace's end: what is open lasts until there."""
        until = int(self._inside.ends[-1]) if len(self._inside.ends) else 0
        for opened in [*self._frames.values(), *(one for stack in self._stacks.values() for one in stack)]:
            if self._overlaps(opened[0], until):
                self.kept.append(opened[1:])

    def _close(self, opened: tuple[int, int, tuple[int, int]], closed: tuple[int, int, tuple[int, int]]) -> None:
        if self._overlaps(opened[0], closed[0]):
            self.kept += [opened[1:], closed[1:]]

    def _overlaps(self, first: int, last: int) -> bool:
        return bool(self._inside.spans(np.array([first]), np.array([last]))[0])


class _Cutter(_Walk):
    """The second way through: the bytes of what is kept."""

    def __init__(self, plan: _Plan, inside: _Inside, bundles: NDArray[np.int64]) -> None:
        super().__init__(inside, bundles)
        self._plan = plan
        self._extras = np.array(sorted(plan.extras), np.int64)
        self.kept_count = self.stripped_count = self.bundle_count = 0

    def cut(self, block: Block) -> bytes:
        """The kept packets of a block."""
        if not len(block.rows):
            return b""
        rows = block.rows
        first_bundle = self.bundle
        _, kept, clears = self.place(block)
        numbers = self.number + np.arange(len(rows))
        low, high = np.searchsorted(self._extras, [self.number, self.number + len(rows)])
        kept[self._extras[low:high] - self.number] = True
        stripped = ~kept & self._is_state(rows, clears)
        thinned = self._thinned(block, kept, first_bundle)
        for number in thinned:
            kept[number], stripped[number] = False, True
        self.number += len(numbers)
        self.kept_count += int(kept.sum() + stripped.sum())
        self.stripped_count += int(stripped.sum())
        self.bundle_count += int((rows[kept | stripped, scanner.FIELD] == scanner.FTRACE).sum())
        pieces: list[bytes] = []
        changes = np.flatnonzero(np.diff(kept.astype(np.int8) + 2 * stripped)) + 1
        for begin, end in zip([0, *changes.tolist()], [*changes.tolist(), len(rows)], strict=True):
            if kept[begin]:
                pieces.append(block.data[rows[begin, scanner.OFFSET] : rows[end - 1, scanner.END]].tobytes())
            elif stripped[begin]:
                pieces += [
                    thinned[number] if number in thinned else framed(_without_payload(block, number))
                    for number in range(begin, end)
                ]
        return b"".join(pieces)

    def _thinned(self, block: Block, kept: Bools, first_bundle: int) -> dict[int, bytes]:
        """Number of a packet → what becomes of it: bundles without the atrace marks that do not belong to what is kept,
        and of those that are not kept the marks that are needed."""
        of_ftrace = np.flatnonzero(block.rows[:, scanner.FIELD] == scanner.FTRACE)
        bundles = first_bundle + np.arange(len(of_ftrace))
        spans = self._spans[bundles]
        asked = kept[of_ftrace] & ~self.inside.wholly(spans[:, 0], spans[:, 1])
        asked |= np.array([int(bundle) in self._plan.marks for bundle in bundles], np.bool_)
        found: dict[int, bytes] = {}
        for number, bundle in zip(of_ftrace[asked].tolist(), bundles[asked].tolist(), strict=True):
            marks = atrace_pairs.scan_marks(block.data, block.rows[[number]], bundle)
            needed = np.isin(marks[:, atrace_pairs.ORDINAL], list(self._plan.marks.get(bundle, ())))
            if kept[number]:
                goes = ~needed & ~self.inside.times(marks[:, atrace_pairs.TIME])
                goes &= marks[:, atrace_pairs.KIND] != atrace_pairs.LIFE
                if goes.any():
                    found[number] = framed(_without(block, number, marks[goes]))
            else:
                found[number] = framed(_with_marks_alone(block, number, marks[needed]))
        return found

    def _is_state(self, rows: NDArray[np.int64], clears: NDArray[np.int64]) -> Bools:
        """Packets that others of their sequence, which are kept, cannot be understood without."""
        flags, sequences = rows[:, scanner.FLAGS], rows[:, scanner.SEQUENCE]
        chosen: Bools = (flags & _STATEFUL) != 0
        if self._plan.incremental:
            chosen |= np.isin(sequences, list(self._plan.incremental))
        for number in np.flatnonzero(chosen).tolist():
            chosen[number] = (int(sequences[number]), int(clears[number])) in self._plan.needed
        return chosen


def _without(block: Block, number: int, marks: NDArray[np.int64]) -> bytes:
    """A packet's message without some events of its bundle."""
    row = block.rows[number]
    at, end = int(row[scanner.AT]), int(row[scanner.AT] + row[scanner.LENGTH])
    pieces = []
    for first, behind in marks[:, [atrace_pairs.FIRST, atrace_pairs.BEHIND]].tolist():
        pieces.append(block.data[at:first].tobytes())
        at = behind
    return _with_payload(block, number, b"".join([*pieces, block.data[at:end].tobytes()]))


def _with_marks_alone(block: Block, number: int, marks: NDArray[np.int64]) -> bytes:
    """A packet's message with what its bundle says of itself and some of its events."""
    kept = [
        encoded(kind, bytes(value) if isinstance(value, memoryview) else value)
        for kind, value in fields(memoryview(block.payload(number)))
        if kind not in _EVENTS_OF_BUNDLE
    ]
    places = marks[:, [atrace_pairs.FIRST, atrace_pairs.BEHIND]].tolist()
    return _with_payload(block, number, b"".join([*kept, *(block.data[a:b].tobytes() for a, b in places)]))


def _with_payload(block: Block, number: int, payload: bytes) -> bytes:
    row = block.rows[number]
    message = block.message(number)
    start = int(row[scanner.END]) - len(message)
    behind = message[int(row[scanner.AT] + row[scanner.LENGTH]) - start :]
    return message[: int(row[scanner.TAG]) - start] + encoded(scanner.FTRACE, payload) + behind


def _without_payload(block: Block, number: int) -> bytes:
    """A packet's message without the field that is its payload."""
    row = block.rows[number]
    message = block.message(number)
    if not row[scanner.FIELD]:
        return message
    start = int(row[scanner.END]) - len(message)
    return message[: int(row[scanner.TAG]) - start] + message[int(row[scanner.AT] + row[scanner.LENGTH]) - start :]
