"""Trace packets, kernel events and track events found in a trace's bytes: arrays in, arrays out.

Only the framing and the few fields that place an event in time and name its thread are read; nothing is unpacked into
objects. Numbers of fields are those of Perfetto's protos/perfetto/trace/trace_packet.proto, ftrace_event_bundle.proto
and track_event.proto. Bytes that are no protobuf end the scan of the message they are in, which says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

OFFSET, END, FIELD, AT, LENGTH, TIMESTAMP, CLOCK, SEQUENCE, FLAGS, TAG = range(10)
"""Columns of a packet: where it begins (its tag) and ends; number, place and length of its payload; timestamp and clock
as written (NONE without); sequence; FLAGS; where the tag of its payload stands."""
COLUMNS = 10
NONE = -1

INTERNED, CLEARED, DEFAULTS, DROPPED, BROKEN, SEVERAL = 1, 2, 4, 8, 16, 32
"""Flags: has interned data; the sequence's incremental state was cleared; has defaults; packets before it are lost; is
no protobuf; has more than one payload."""

SWITCH, WAKING, WAKEUP, WAKEUP_NEW, PRINT, SYS_ENTER, SYS_EXIT = 4, 20, 17, 114, 3, 329, 330
FTRACE, TRACK_EVENT, COMPRESSED, ZSTD_COMPRESSED = 1, 11, 50, 133
PRINT_KIND, SYSCALL_KIND, TRACK_KIND, PACKET_KIND = 1 << 12, 1 << 13, 1 << 14, 1 << 15
"""Kinds of events beyond the numbers of kernel events: PRINT_KIND + first letter, SYSCALL_KIND + its number,
TRACK_KIND + type, PACKET_KIND + payload."""
MAX_TID = 1 << 22
SECOND_NS = 1_000_000_000

_FNV_BASIS, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_HASH = np.uint64(ord("#"))


def name_hash(name: bytes) -> int:
    """FNV-1a of a name with `#` for every number."""
    return int(_name(np.frombuffer(name, np.uint8), 0, len(name)))


def event_key(kind: int, process: int, thread: int) -> int:
    """Key of an event type: kind, and hashes of the names of process and thread."""
    return int(_key(kind, np.uint64(process), np.uint64(thread)))


@njit(cache=True, nogil=True)
def _key(kind: Any, process: Any, thread: Any) -> Any:
    value = _FNV_BASIS
    for part in (np.uint64(kind), process, thread):
        value = (value ^ part) * _FNV_PRIME
        value ^= value >> np.uint64(29)
    return value


@njit(cache=True, nogil=True)
def _name(data: Any, at: int, end: int) -> Any:
    value = _FNV_BASIS
    in_number = False
    for i in range(at, end):
        byte = data[i]
        is_digit = 48 <= byte <= 57
        if is_digit and in_number:
            continue
        in_number = is_digit
        value = (value ^ (_HASH if is_digit else np.uint64(byte))) * _FNV_PRIME
    return value


@njit(cache=True, nogil=True)
def _varint(data: Any, at: int, end: int) -> Any:
    """(value, place behind it); the place is -1 if it does not end."""
    value = np.uint64(0)
    shift = np.uint64(0)
    for i in range(at, min(end, at + 10)):
        byte = data[i]
        value |= np.uint64(byte & 0x7F) << shift
        if byte < 0x80:
            return np.int64(value), i + 1
        shift += np.uint64(7)
    return np.int64(0), -1


@njit(cache=True, nogil=True)
def field_at(data: Any, at: int, end: int) -> Any:
    """(number, wire type, value or begin, end of the field); the end is -1 where this is no field."""
    tag, at = _varint(data, at, end)
    if at < 0 or tag < 8:
        return 0, 0, np.int64(0), -1
    wire = tag & 7
    number = tag >> 3
    if wire == 0:
        value, stop = _varint(data, at, end)
        return number, wire, value, stop
    if wire == 2:
        length, begin = _varint(data, at, end)
        if begin < 0 or length < 0 or length > end - begin:
            return number, wire, np.int64(0), -1
        return number, wire, np.int64(begin), begin + length
    if wire == 1 or wire == 5:
        stop = at + (8 if wire == 1 else 4)
        if stop > end:
            return number, wire, np.int64(0), -1
        value = np.int64(0)
        for i in range(stop - 1, at - 1, -1):
            value = (value << 8) | np.int64(data[i])
        return number, wire, value, stop
    return number, wire, np.int64(0), -1


@njit(cache=True, nogil=True)
def _scan_packets(data: Any, limit: int, rows: Any) -> Any:
    """Whole packets from the begin of the data: (how many, bytes consumed, whether something is no packet)."""
    count = 0
    at = 0
    while at < limit and count < rows.shape[0]:
        if data[at] != 0x0A:
            return count, at, True
        length, begin = _varint(data, at + 1, limit)
        if begin < 0:
            return count, at, limit - at > 11
        if length < 0:
            return count, at, True
        if length > limit - begin:
            return count, at, False
        row = rows[count]
        row[OFFSET] = at
        row[END] = begin + length
        row[FIELD] = 0
        row[AT] = begin
        row[TAG] = begin
        row[LENGTH] = 0
        row[TIMESTAMP] = NONE
        row[CLOCK] = NONE
        row[SEQUENCE] = 0
        row[FLAGS] = 0
        place = begin
        while place < begin + length:
            number, wire, value, stop = field_at(data, place, begin + length)
            if stop < 0:
                row[FLAGS] |= BROKEN
                break
            if number == 8:
                row[TIMESTAMP] = value
            elif number == 58:
                row[CLOCK] = value
            elif number == 10:
                row[SEQUENCE] = value
            elif number == 12:
                row[FLAGS] |= INTERNED
            elif number == 13:
                if value & 1:
                    row[FLAGS] |= CLEARED
            elif number == 41:
                if value:
                    row[FLAGS] |= CLEARED
            elif number == 59:
                row[FLAGS] |= DEFAULTS
            elif number == 42:
                if value:
                    row[FLAGS] |= DROPPED
            elif number == 3 or number == 79 or number == 87 or number == 98:
                pass
            else:
                if row[FIELD]:
                    row[FLAGS] |= SEVERAL
                row[FIELD] = number
                row[TAG] = place
                row[AT] = value if wire == 2 else place
                row[LENGTH] = stop - row[AT]
            place = stop
        count += 1
        at = begin + length
    return count, at, False


def scan_packets(data: NDArray[np.uint8]) -> tuple[NDArray[np.int64], int, bool]:
    """Whole packets, (n, columns) as told above, from the begin of bytes, how many bytes they take, and whether
    anything behind them is no packet (False: it may go on in the next bytes)."""
    parts: list[NDArray[np.int64]] = []
    consumed = 0
    rows = np.empty((max(64, len(data) // 64), COLUMNS), np.int64)
    while True:
        count, used, is_broken = _scan_packets(data[consumed:], len(data) - consumed, rows)
        part = rows[:count].copy()
        part[:, [OFFSET, END, AT, TAG]] += consumed
        parts.append(part)
        consumed += int(used)
        if is_broken or count < len(rows):
            return np.concatenate(parts), consumed, bool(is_broken)


@njit(cache=True, nogil=True)
def bundle_head(data: Any, at: int, end: int) -> Any:
    """(difference to add to its timestamps, core, whether events were lost, whether it is whole)."""
    core = 0
    own = np.int64(0)
    boot = np.int64(0)
    lost = False
    while at < end:
        number, _, value, stop = field_at(data, at, end)
        if stop < 0:
            return np.int64(0), core, lost, False
        if number == 1:
            core = value
        elif number == 3:
            lost = value != 0
        elif number == 6:
            own = value
        elif number == 7:
            boot = value
        at = stop
    return (boot - own if own and boot else np.int64(0)), core, lost, True


@njit(cache=True, nogil=True)
def _event(data: Any, at: int, end: int, names: Any) -> Any:
    """(timestamp, kind, thread) of a kernel event, the timestamp -1 where there is none; what it calls a thread is put
    into `names`."""
    timestamp = np.int64(-1)
    kind = 0
    tid = 0
    while at < end:
        number, wire, value, stop = field_at(data, at, end)
        if stop < 0:
            return np.int64(-1), 0, 0
        if number == 1 and wire == 0:
            timestamp = value
        elif number == 2 and wire == 0:
            tid = value
        elif wire == 2 and number > 2 and kind == 0:
            kind = number
            if number == SWITCH or number == WAKING or number == WAKEUP or number == WAKEUP_NEW:
                comm_field, tid_field = (5, 6) if number == SWITCH else (1, 2)
                inner = value
                begin, behind = 0, 0
                while inner < stop:
                    n, w, v, s = field_at(data, inner, stop)
                    if s < 0:
                        return np.int64(-1), 0, 0
                    if n == comm_field and w == 2:
                        begin, behind = v, s
                    elif n == tid_field and w == 0:
                        tid = v
                    inner = s
                if 0 <= tid < MAX_TID and behind > begin:
                    names[tid] = _name(data, begin, behind)
            elif number == PRINT:
                inner = value
                while inner < stop:
                    n, w, v, s = field_at(data, inner, stop)
                    if s < 0:
                        return np.int64(-1), 0, 0
                    if n == 2 and w == 2 and s > v:
                        is_atrace = s - v == 1 or data[v + 1] == 124 or data[v + 1] == 10
                        kind = PRINT_KIND + (data[v] if is_atrace else 0)
                    inner = s
            elif number == SYS_ENTER or number == SYS_EXIT:
                inner = value
                while inner < stop:
                    n, w, v, s = field_at(data, inner, stop)
                    if s < 0:
                        return np.int64(-1), 0, 0
                    if n == 1 and w == 0 and number == SYS_ENTER:
                        kind = SYSCALL_KIND + (v & 0xFFF)
                    inner = s
        at = stop
    return timestamp, kind, tid


@njit(cache=True, nogil=True)
def _compact(data: Any, at: int, end: int, names: Any, times: Any, kinds: Any, tids: Any, count: int) -> int:
    """Switches and wakeups of a compact table; how many events there are then, -1 if it is none."""
    table = np.zeros(64, np.uint64)
    table_size = 0
    place = np.zeros(16, np.int64)
    behind = np.zeros(16, np.int64)
    while at < end:
        number, wire, value, stop = field_at(data, at, end)
        if stop < 0:
            return -1
        if number == 5 and wire == 2:
            if table_size == table.shape[0]:
                larger = np.zeros(2 * table_size, np.uint64)
                larger[:table_size] = table
                table = larger
            table[table_size] = _name(data, value, stop)
            table_size += 1
        elif number < 16 and wire == 2:
            place[number] = value
            behind[number] = stop
        at = stop
    for kind, time_field, tid_field, comm_field in ((SWITCH, 1, 3, 6), (WAKING, 7, 8, 11)):
        t, p, c = place[time_field], place[tid_field], place[comm_field]
        now = np.int64(0)
        while t < behind[time_field]:
            step, t = _varint(data, t, behind[time_field])
            if t < 0:
                return -1
            tid, p = _varint(data, p, behind[tid_field])
            if p < 0 or count >= times.shape[0]:
                return -1
            now += step
            if c < behind[comm_field]:
                comm, c = _varint(data, c, behind[comm_field])
                if c < 0:
                    return -1
                if 0 <= tid < MAX_TID and 0 <= comm < table_size:
                    names[tid] = table[comm]
            times[count] = now
            kinds[count] = kind
            tids[count] = tid if 0 <= tid < MAX_TID else 0
            count += 1
    return count


@njit(cache=True, nogil=True)
def _scan_bundles(
    data: Any, begins: Any, lengths: Any, names: Any, processes: Any, times: Any, kinds: Any, tids: Any, keys: Any,
    facts: Any,
) -> int:  # fmt: skip
    """Events of all bundles; per bundle facts: first and last time, lost, broken, core, first and last switch,
    events until its end."""
    count = 0
    for b in range(begins.shape[0]):
        at = begins[b]
        end = at + lengths[b]
        first = count
        shift, core, lost, is_whole = bundle_head(data, at, end)
        while at < end and is_whole:
            number, wire, value, stop = field_at(data, at, end)
            if number == 2 and wire == 2:
                timestamp, kind, tid = _event(data, value, stop, names)
                if timestamp < 0:
                    is_whole = False
                    break
                tid = tid if 0 <= tid < MAX_TID else 0
                times[count] = timestamp
                kinds[count] = kind
                tids[count] = tid
                keys[count] = _key(kind, processes[tid], names[tid])
                count += 1
            elif number == 4 and wire == 2:
                more = _compact(data, value, stop, names, times, kinds, tids, count)
                if more < 0:
                    is_whole = False
                    break
                for i in range(count, more):
                    keys[i] = _key(kinds[i], processes[tids[i]], names[tids[i]])
                count = more
            at = stop
        low = np.int64(-1)
        high = np.int64(-1)
        low_switch = np.int64(-1)
        high_switch = np.int64(-1)
        for i in range(first, count):
            times[i] += shift
            if low < 0 or times[i] < low:
                low = times[i]
            high = max(high, times[i])
            if kinds[i] == SWITCH:
                if low_switch < 0 or times[i] < low_switch:
                    low_switch = times[i]
                high_switch = max(high_switch, times[i])
        facts[b, 0] = low
        facts[b, 1] = high
        facts[b, 2] = lost
        facts[b, 3] = not is_whole
        facts[b, 4] = core
        facts[b, 5] = low_switch
        facts[b, 6] = high_switch
        facts[b, 7] = count
    return count


class BundleScanner:
    """Scans bundles of kernel events in their order and remembers what threads are called.

    Attributes:
        names, processes: (MAX_TID,) hash of the name of each thread, and of its process; 0 where it is not known.
    """

    def __init__(self) -> None:
        self.names = np.zeros(MAX_TID, np.uint64)
        self.processes = np.zeros(MAX_TID, np.uint64)
        self._room = 0

    def scan(self, data: NDArray[np.uint8], packets: NDArray[np.int64]) -> BundleEvents:
        """Events of the bundles that are the payloads of some packets of the data, a row of `scan_packets` each; valid
        until the next."""
        room = int(packets[:, LENGTH].sum()) // 3 + 16  # a compact event has a time, a thread and a name
        if room > self._room:
            self._times, self._keys = np.empty(room, np.int64), np.empty(room, np.uint64)
            self._kinds, self._tids = np.empty(room, np.int32), np.empty(room, np.int32)
            self._room = room
        facts = np.zeros((len(packets), 8), np.int64)
        count = _scan_bundles(
            data, packets[:, AT], packets[:, LENGTH], self.names, self.processes, self._times, self._kinds,
            self._tids, self._keys, facts,
        )  # fmt: skip
        return BundleEvents(self._times[:count], self._kinds[:count], self._tids[:count], self._keys[:count], facts)


class BundleEvents:
    """Attributes:
    times, kinds, tids, keys: (events,) of the clock of the bundle; see `event_key`.
    first, last: (bundles,) times, -1 without events.
    is_lossy, is_broken: (bundles,) events were lost before it; it is no protobuf, its events are lacking.
    core, first_switch, last_switch: (bundles,) times are -1 without one.
    ends: (bundles,) number of its last event + 1.
    """

    def __init__(self, times: Any, kinds: Any, tids: Any, keys: Any, facts: NDArray[np.int64]) -> None:
        self.times, self.kinds, self.tids, self.keys = times, kinds, tids, keys
        self.first, self.last = facts[:, 0], facts[:, 1]
        self.is_lossy, self.is_broken = facts[:, 2] != 0, facts[:, 3] != 0
        self.core, self.first_switch, self.last_switch = facts[:, 4], facts[:, 5], facts[:, 6]
        self.ends = facts[:, 7]


@njit(cache=True, nogil=True)
def _scan_track_events(data: Any, begins: Any, lengths: Any, types: Any, uuids: Any, odd: Any) -> None:
    for i in range(begins.shape[0]):
        at = begins[i]
        end = at + lengths[i]
        types[i] = 0
        uuids[i] = 0
        odd[i] = False
        while at < end:
            number, _, value, stop = field_at(data, at, end)
            if stop < 0:
                odd[i] = True
                break
            if number == 9:
                types[i] = value
            elif number == 11:
                uuids[i] = np.uint64(value)
            elif number == 6 or number == 1 or number == 16:  # legacy events; times inside the payload
                odd[i] = True
            at = stop


def scan_track_events(
    data: NDArray[np.uint8], packets: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.bool_]]:
    """Type (1 begin, 2 end, 3 instant, 4 counter, 0 as the defaults say) and track (0: the sequence's default) of the
    track events in packets, (n,) each; and whether one is of the legacy form, whose place and time are elsewhere."""
    types = np.empty(len(packets), np.int32)
    uuids = np.empty(len(packets), np.uint64)
    odd = np.empty(len(packets), np.bool_)
    _scan_track_events(data, packets[:, AT], packets[:, LENGTH], types, uuids, odd)
    return types, uuids, odd


@njit(cache=True, nogil=True)
def _bundle_starts(data: Any, begins: Any, lengths: Any, starts: Any) -> None:
    for b in range(begins.shape[0]):
        at = begins[b]
        end = at + lengths[b]
        shift, _, _, is_whole = bundle_head(data, at, end)
        low = np.int64(-1)
        while at < end and is_whole:
            number, wire, value, stop = field_at(data, at, end)
            found = np.int64(-1)
            if number == 2 and wire == 2:
                n, w, v, s = field_at(data, value, stop)
                if s >= 0 and n == 1:
                    found = v
            elif number == 4 and wire == 2:
                inner = value
                while inner < stop:
                    n, w, v, s = field_at(data, inner, stop)
                    if s < 0:
                        break
                    if (n == 1 or n == 7) and w == 2 and s > v:
                        one, _ = _varint(data, v, s)
                        if found < 0 or one < found:
                            found = one
                    inner = s
            if found >= 0 and (low < 0 or found < low):
                low = found
            if low >= 0 and number == 2:  # events stand in order of time
                break
            at = stop
        starts[b] = low + shift if low >= 0 else -1


def bundle_starts(data: NDArray[np.uint8], packets: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n,) first time in each bundle, -1 without events; a tenth of the work of reading the events."""
    starts = np.empty(len(packets), np.int64)
    _bundle_starts(data, packets[:, AT], packets[:, LENGTH], starts)
    return starts


@njit(cache=True, nogil=True)
def _count(
    times: Any, keys: Any, begin: int, known: Any, columns: Any, start: int, width: int, counts: Any, limit: int,
    strange: Any, second_start: int, seconds: Any, mask: int,
) -> Any:  # fmt: skip
    """Adds events from one on to windows and seconds: (how many lie outside, number of the first that is not added
    because the count of its window is at the limit; of all events where there is none)."""
    outside = 0
    other = counts.shape[1] - 1
    for i in range(begin, times.shape[0]):
        if times[i] < start:
            outside += 1
            continue
        window = (times[i] - start) // width
        if window >= counts.shape[0]:
            outside += 1
            continue
        at = np.int64(keys[i] & np.uint64(mask))
        while columns[at] >= 0 and known[at] != keys[i]:
            at = (at + 1) & mask
        column = columns[at] if columns[at] >= 0 else other
        if counts[window, column] == limit:
            return outside, i
        counts[window, column] += 1
        if columns[at] < 0:
            strange[window] += 1
        seconds[(times[i] - second_start) // SECOND_NS, column] += 1
    return outside, times.shape[0]


class WindowCounter:
    """Counts events of known types by window, and by second: windows need not fit into seconds, nor seconds into them.

    Attributes:
        counts: (windows, types + 1), the last column for all other types; uint16, and wider from the first count on
            that needs it: hours of short windows are most of what is remembered of a trace.
        strange: (windows,) uint32, events of types that are neither told apart nor among the others that are known.
        seconds: (seconds, types + 1) uint32, as `counts`.
    """

    def __init__(
        self,
        keys: NDArray[np.uint64],
        start_ns: int,
        window_ns: int,
        second_start_ns: int | None = None,
        *,
        others: Iterable[int] = (),
    ) -> None:
        """
        Args:
            keys: (n,) of the types, see `event_key`.
            others: keys of types that are counted in the last column and are known all the same.
            second_start_ns: of the first second, which may have begun before the first window; None: with it.
        """
        self._start, self._width = start_ns, window_ns
        self._second_start = start_ns if second_start_ns is None else second_start_ns
        known = {key: column for column, key in enumerate(keys.tolist())}
        known = dict.fromkeys(others, len(keys)) | known
        size = 256
        while size < 4 * len(known):
            size *= 2
        self._mask = size - 1
        self._known, self._columns = np.zeros(size, np.uint64), np.full(size, -1, np.int32)
        for key, column in known.items():
            at = key & self._mask
            while self._columns[at] >= 0:
                at = (at + 1) & self._mask
            self._known[at], self._columns[at] = key, column
        self.counts = np.zeros((0, len(keys) + 1), np.uint16)
        self.strange = np.zeros((0, 1), np.uint32)
        self.seconds = np.zeros((0, len(keys) + 1), np.uint32)
        self.window_count = 0

    def add(self, times: NDArray[np.int64], keys: NDArray[np.uint64]) -> int:
        """Events, (n,) times and keys in any order; how many lie before the start."""
        if not len(times):
            return 0
        last = int(times.max())
        needed = (last - self._start) // self._width + 1
        self.counts = _grown(self.counts, needed, 1024)
        self.strange = _grown(self.strange, needed, 1024)
        self.seconds = _grown(self.seconds, (last - self._second_start) // SECOND_NS + 1, 256)
        self.window_count = max(self.window_count, needed)
        outside = begin = 0
        while begin < len(times):
            more, begin = _count(
                times, keys, begin, self._known, self._columns, self._start, self._width, self.counts,
                int(np.iinfo(self.counts.dtype).max), self.strange[:, 0], self._second_start, self.seconds, self._mask,
            )  # fmt: skip
            outside += int(more)
            if begin < len(times):
                self.counts = self.counts.astype(f"u{2 * self.counts.itemsize}")
        return outside


def _grown(rows: NDArray[Any], needed: int, fewest: int) -> NDArray[Any]:
    """The same with room for `needed` rows, and more where it had to grow."""
    if needed <= len(rows):
        return rows
    grown = np.zeros((max(needed, len(rows) * 3 // 2, fewest), rows.shape[1]), rows.dtype)
    grown[: len(rows)] = rows
    return grown
