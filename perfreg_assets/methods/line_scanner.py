"""Method calls found in the bytes of a log by a template of literals and fields: the fast way of `traces.call_log`.

Arrays in, arrays out. A template is literal texts with a field before each and one behind the last; a field is the
shortest text up to the next literal, as `(.*?)` of a regular expression. Names are numbered as they come; whoever joins
what several scanners found numbers them anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Fields, in the order of what `Scanner` keeps. The first four are names.
TRANSACTION, SERVICE, LABEL, METHOD, ELAPSED, TIME = range(6)
NAME_KINDS = 4
IGNORED, NONE = 6, -1
"""A field that nobody reads; no field at all (the template begins or ends with a literal)."""

# What became of a line.
CALL, UNFIT, NAME_EMPTY, LABEL_INVALID, NUMBER_INVALID, DECIMAL_COMMA = range(6)
STATUS_COUNT = 6

MAX_LINE_BYTES = 1 << 16
"""So much of a line is looked at; longer ones are counted."""
NO_TIME = np.iinfo(np.int64).min
_LONG, _CRLF, _LINES = range(3)
_LINE_FEED = 10

Names = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class Layout:
    """A template as arrays.

    Attributes:
        literals: bytes of all literals, one behind the other; `bounds`: their ends, from 0.
        kinds: field before each literal and behind the last, one more than literals; NONE only first and last.
        elapsed_unit_ms: milliseconds in a unit of the elapsed time.
    """

    literals: NDArray[np.uint8]
    bounds: NDArray[np.int64]
    kinds: NDArray[np.int64]
    elapsed_unit_ms: float

    @property
    def shortest_line(self) -> int:
        """Bytes that a line with a call has at least: its literals and one byte for each field that is read."""
        return len(self.literals) + int(np.sum((self.kinds >= 0) & (self.kinds < IGNORED))) + 1


@dataclass
class Found:
    """The calls of one block of lines, numbers of names as in the `Scanner` that found them.

    Attributes:
        names: transaction, service, label and method of each call, an array each.
        elapsed_ms, time_ms: duration; time since 1970 as written in the line, NO_TIME where there is none.
        statuses: how many lines became what (CALL …).
        first: where the first line of each status begins, -1 without one.
        line_count, long_count, crlf_count: lines; those over MAX_LINE_BYTES; those that end in CR LF.
    """

    names: list[NDArray[np.int32]]
    elapsed_ms: NDArray[np.float64]
    time_ms: NDArray[np.int64]
    statuses: NDArray[np.int64]
    first: NDArray[np.int64]
    line_count: int
    long_count: int
    crlf_count: int


@dataclass
class Scanner:
    """Scans blocks one after the other and remembers the names. Not for two threads at once."""

    layout: Layout
    _tables: list[Names] = field(default_factory=lambda: [_empty_names() for _ in range(NAME_KINDS)])
    _room: int = 0

    def scan(self, block: NDArray[np.uint8]) -> Found:
        """The calls in a block of whole lines (the last one may lack its line end), given as its bytes (n,)."""
        room = max(len(block) // self.layout.shortest_line + 1, 1)
        if room > self._room:
            self._names = np.empty((NAME_KINDS, room), np.int32)
            self._elapsed = np.empty(room)
            self._time = np.empty(room, np.int64)
            self._room = room
        statuses = np.zeros(STATUS_COUNT, np.int64)
        first = np.full(STATUS_COUNT, -1, np.int64)
        counts = np.zeros(3, np.int64)
        line_ends = np.flatnonzero(block == _LINE_FEED)  # five times as quick as to look byte by byte
        if len(block) and (not len(line_ends) or line_ends[-1] != len(block) - 1):
            line_ends = np.append(line_ends, len(block))
        layout = self.layout
        transactions, services, labels, methods = self._tables
        *tables, count = _scan(
            block, line_ends, layout.literals, layout.bounds, layout.kinds, layout.elapsed_unit_ms,
            transactions, services, labels, methods, self._names, self._elapsed, self._time, statuses, first, counts,
        )  # fmt: skip
        self._tables = list(tables)
        return Found(
            [self._names[kind, :count].copy() for kind in range(NAME_KINDS)],
            self._elapsed[:count].copy(),
            self._time[:count].copy(),
            statuses,
            first,
            int(counts[_LINES]),
            int(counts[_LONG]),
            int(counts[_CRLF]),
        )

    def names(self, kind: int) -> list[bytes]:
        """All names of a kind by their number."""
        arena, ends, _, _, meta = self._tables[kind]
        text = arena.tobytes()
        return [text[ends[i] : ends[i + 1]] for i in range(meta[0])]


def _empty_names() -> Names:
    """(bytes of all names, their ends from 0, hashes, hash table of numbers or -1, [count, bytes used])."""
    return (
        np.empty(1 << 12, np.uint8),
        np.zeros(129, np.int64),
        np.empty(128, np.uint64),
        np.full(256, -1, np.int32),
        np.zeros(2, np.int64),
    )


@njit(cache=True, nogil=True)
def name_hash(text: Any, start: int, end: int) -> Any:
    """FNV-1a of 64 bits, its low bits stirred: the same on every machine."""
    found = np.uint64(14695981039346656037)
    for i in range(start, end):
        found = (found ^ np.uint64(text[i])) * np.uint64(1099511628211)
    return found ^ (found >> np.uint64(29))


@njit(cache=True, nogil=True)
def _grown(names: Any, needed: int) -> Any:
    arena, ends, hashes, slots, meta = names
    if meta[1] + needed > len(arena):
        larger = np.empty(2 * (len(arena) + needed), np.uint8)
        larger[: meta[1]] = arena[: meta[1]]
        arena = larger
    if meta[0] == len(hashes):
        count = meta[0]
        more_ends = np.zeros(2 * count + 1, np.int64)
        more_ends[: count + 1] = ends[: count + 1]
        more_hashes = np.empty(2 * count, np.uint64)
        more_hashes[:count] = hashes
        slots = np.full(4 * count, np.int32(-1), np.int32)
        mask = np.uint64(len(slots) - 1)
        for number in range(count):
            at = more_hashes[number] & mask
            while slots[at] >= 0:
                at = (at + np.uint64(1)) & mask
            slots[at] = number
        ends, hashes = more_ends, more_hashes
    return arena, ends, hashes, slots, meta


@njit(cache=True, nogil=True)
def _number_of(names: Any, text: Any, start: int, end: int) -> Any:
    """Number of a name; -1: there is no room for a new one."""
    arena, ends, hashes, slots, meta = names
    length = end - start
    wanted = name_hash(text, start, end)
    mask = np.uint64(len(slots) - 1)
    at = wanted & mask
    while slots[at] >= 0:
        number = slots[at]
        if hashes[number] == wanted and ends[number + 1] - ends[number] == length:
            begin = ends[number]
            i = 0
            while i < length and arena[begin + i] == text[start + i]:
                i += 1
            if i == length:
                return number
        at = (at + np.uint64(1)) & mask
    if meta[0] == len(hashes) or meta[1] + length > len(arena):
        return -1
    number = meta[0]
    used = meta[1]
    for i in range(length):
        arena[used + i] = text[start + i]
    ends[number] = used
    ends[number + 1] = used + length
    hashes[number] = wanted
    slots[at] = number
    meta[0] = number + 1
    meta[1] = used + length
    return number


@njit(cache=True, nogil=True)
def _is_same(text: Any, start: int, end: int, other_start: int, other_end: int) -> bool:
    if end - start != other_end - other_start:
        return False
    for i in range(end - start):  # noqa: SIM110  (compiled code has no generators)
        if text[start + i] != text[other_start + i]:
            return False
    return True


@njit(cache=True, nogil=True)
def _find(text: Any, start: int, end: int, literals: Any, low: int, high: int) -> int:
    """Where a literal first occurs in text[start:end], or -1."""
    first = literals[low]
    length = high - low
    for at in range(start, end - length + 1):
        if text[at] == first:
            i = 1
            while i < length and text[at + i] == literals[low + i]:
                i += 1
            if i == length:
                return at
    return -1


@njit(cache=True, nogil=True)
def _is_digit(byte: int) -> bool:
    return 48 <= byte <= 57


@njit(cache=True, nogil=True)
def _is_label(text: Any, start: int, end: int) -> bool:
    """Numbers of at most nine digits, joined by dots."""
    digits = 0
    for i in range(start, end):
        if _is_digit(text[i]):
            digits += 1
            if digits > 9:
                return False
        elif text[i] == 46 and digits:
            digits = 0
        else:
            return False
    return digits > 0


@njit(cache=True, nogil=True)
def _decimal(text: Any, start: int, end: int) -> tuple[float, int]:
    """(value, CALL or what is wrong): digits, a point, an exponent; no sign."""
    mantissa, digits, exponent, i = 0.0, 0, 0, start
    while i < end and _is_digit(text[i]):
        mantissa = mantissa * 10.0 + (text[i] - 48)
        digits += 1
        i += 1
    if i < end and text[i] == 44 and digits:
        i += 1
        decimals = 0
        while i < end and _is_digit(text[i]):
            decimals += 1
            i += 1
        return 0.0, DECIMAL_COMMA if i == end and decimals else NUMBER_INVALID
    if i < end and text[i] == 46:
        i += 1
        while i < end and _is_digit(text[i]):
            mantissa = mantissa * 10.0 + (text[i] - 48)
            digits += 1
            exponent -= 1
            i += 1
    if digits == 0:
        return 0.0, NUMBER_INVALID
    if i < end and (text[i] == 101 or text[i] == 69):
        i += 1
        sign = 1
        if i < end and (text[i] == 43 or text[i] == 45):
            sign = -1 if text[i] == 45 else 1
            i += 1
        written, power = 0, 0
        while i < end and _is_digit(text[i]):
            power = min(power * 10 + (text[i] - 48), 9999)
            written += 1
            i += 1
        if written == 0:
            return 0.0, NUMBER_INVALID
        exponent += sign * power
    if i < end:
        return 0.0, NUMBER_INVALID
    # Both factors are exact up to 15 digits and 22 places, so the quotient is rounded once, as `float` does.
    value = mantissa / 10.0 ** (-exponent) if exponent < 0 else mantissa * 10.0**exponent
    if not np.isfinite(value):
        return 0.0, NUMBER_INVALID
    return value, CALL


@njit(cache=True, nogil=True)
def _two(text: Any, at: int) -> int:
    if _is_digit(text[at]) and _is_digit(text[at + 1]):
        return int(text[at] - 48) * 10 + int(text[at + 1] - 48)
    return -1


@njit(cache=True, nogil=True)
def _time(text: Any, start: int, end: int) -> int:  # noqa: PLR0911  (one check after the other)
    """Milliseconds since 1970 of `2014-11-03 10:15:23.123` (blank or T, point or comma) after at most a bracket."""
    if start < end and text[start] == 91:
        start += 1
    if end - start < 19:
        return NO_TIME
    if text[start + 4] != 45 or text[start + 7] != 45 or text[start + 13] != 58 or text[start + 16] != 58:
        return NO_TIME
    if text[start + 10] != 32 and text[start + 10] != 84:
        return NO_TIME
    century, year = _two(text, start), _two(text, start + 2)
    month, day = _two(text, start + 5), _two(text, start + 8)
    hour, minute, second = _two(text, start + 11), _two(text, start + 14), _two(text, start + 17)
    if century < 0 or year < 0 or not 1 <= month <= 12 or day < 1:
        return NO_TIME
    if not 0 <= hour < 24 or not 0 <= minute < 60 or not 0 <= second < 60:
        return NO_TIME
    year += century * 100
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    last = 28 + is_leap if month == 2 else 30 if month in (4, 6, 9, 11) else 31
    if day > last or year == 0:
        return NO_TIME
    millis, scale, at = 0, 100, start + 20
    if at < end and (text[at - 1] == 46 or text[at - 1] == 44):
        while at < end and _is_digit(text[at]) and scale:
            millis += int(text[at] - 48) * scale
            scale //= 10
            at += 1
    # Days since 1970 with years from March on, so that the leap day comes last (Hinnant, days_from_civil).
    y = year - (month <= 2)
    era = y // 400
    year_of_era = y - era * 400
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    days = era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468
    return ((days * 24 + hour) * 60 + minute) * 60000 + second * 1000 + millis


@njit(cache=True, nogil=True)
def _scan(  # noqa: PLR0912, PLR0915  (one pass over the bytes)
    text: Any, line_ends: Any, literals: Any, bounds: Any, kinds: Any, unit_ms: float,
    transactions: Any, services: Any, labels: Any, methods: Any,
    names: Any, elapsed: Any, times: Any, statuses: Any, first: Any, counts: Any,
) -> Any:  # fmt: skip
    count = 0
    literal_count = len(bounds) - 1
    starts = np.zeros(IGNORED + 1, np.int64)
    ends = np.zeros(IGNORED + 1, np.int64)
    line = 0
    last_transaction = last_service = -1
    last_start, last_end, last_service_start, last_service_end = 0, -1, 0, -1
    for line_end in line_ends:
        end = line_end
        counts[_LINES] += 1
        if end > line and text[end - 1] == 13:
            counts[_CRLF] += 1
            end -= 1
        if end - line > MAX_LINE_BYTES:
            counts[_LONG] += 1
            end = line + MAX_LINE_BYTES
        # Fields lie between the literals.
        status = CALL
        at = line
        starts[:] = 0
        ends[:] = 0
        for number in range(literal_count):
            low, high = bounds[number], bounds[number + 1]
            kind = kinds[number]
            found = _find(text, at, min(end, at + high - low) if kind == NONE else end, literals, low, high)
            if found < 0:
                status = UNFIT
                break
            if kind >= 0:
                starts[kind] = at
                ends[kind] = found
            at = found + high - low
        if status == CALL:
            if kinds[literal_count] >= 0:
                starts[kinds[literal_count]] = at
                ends[kinds[literal_count]] = end
            value = 0.0
            if ends[TRANSACTION] == starts[TRANSACTION] or ends[METHOD] == starts[METHOD]:
                status = NAME_EMPTY
            elif not _is_label(text, starts[LABEL], ends[LABEL]):
                status = LABEL_INVALID
            else:
                value, status = _decimal(text, starts[ELAPSED], ends[ELAPSED])
            if status == CALL:
                # Calls of a transaction mostly stand together.
                number = last_transaction
                if not _is_same(text, starts[TRANSACTION], ends[TRANSACTION], last_start, last_end):
                    number = _number_of(transactions, text, starts[TRANSACTION], ends[TRANSACTION])
                if number < 0:
                    transactions = _grown(transactions, ends[TRANSACTION] - starts[TRANSACTION])
                    number = _number_of(transactions, text, starts[TRANSACTION], ends[TRANSACTION])
                names[TRANSACTION, count] = last_transaction = number
                last_start, last_end = starts[TRANSACTION], ends[TRANSACTION]
                number = last_service
                if not _is_same(text, starts[SERVICE], ends[SERVICE], last_service_start, last_service_end):
                    number = _number_of(services, text, starts[SERVICE], ends[SERVICE])
                if number < 0:
                    services = _grown(services, ends[SERVICE] - starts[SERVICE])
                    number = _number_of(services, text, starts[SERVICE], ends[SERVICE])
                names[SERVICE, count] = last_service = number
                last_service_start, last_service_end = starts[SERVICE], ends[SERVICE]
                number = _number_of(labels, text, starts[LABEL], ends[LABEL])
                if number < 0:
                    labels = _grown(labels, ends[LABEL] - starts[LABEL])
                    number = _number_of(labels, text, starts[LABEL], ends[LABEL])
                names[LABEL, count] = number
                number = _number_of(methods, text, starts[METHOD], ends[METHOD])
                if number < 0:
                    methods = _grown(methods, ends[METHOD] - starts[METHOD])
                    number = _number_of(methods, text, starts[METHOD], ends[METHOD])
                names[METHOD, count] = number
                elapsed[count] = value * unit_ms
                times[count] = (
                    _time(text, starts[TIME], ends[TIME]) if ends[TIME] > starts[TIME] else _time(text, line, end)
                )
                count += 1
        statuses[status] += 1
        if first[status] < 0:
            first[status] = line
        line = line_end + 1
    return transactions, services, labels, methods, count
