"""Calls found in bytes, compiled: fields between literals, names by number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from perfreg_assets.methods.line_fields import (
    CALL,
    DECIMAL_COMMA,
    ELAPSED,
    IGNORED,
    LABEL,
    LABEL_INVALID,
    MAX_LINE_BYTES,
    METHOD,
    NAME_EMPTY,
    NO_TIME,
    NONE,
    NUMBER_INVALID,
    SERVICE,
    TIME,
    TRANSACTION,
    UNFIT,
)

LONG, CRLF, LINES = range(3)


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
def _numbered(names: Any, text: Any, start: int, end: int) -> Any:
    """(the table of names, grown where a new one had no room; number of the name)."""
    number = _number_of(names, text, start, end)
    if number < 0:
        names = _grown(names, end - start)
        number = _number_of(names, text, start, end)
    return names, number


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
def scan(  # noqa: PLR0912, PLR0915  (one pass over the bytes)
    text: Any, line_ends: Any, literals: Any, bounds: Any, kinds: Any, unit_ms: float,
    transactions: Any, services: Any, labels: Any, methods: Any,
    names: Any, elapsed: Any, times: Any, statuses: Any, first: Any, counts: Any,
) -> Any:  # fmt: skip
    """The calls of a block's lines: (the four tables of names, maybe grown, how many calls were found).

    Takes the block's bytes `text` (n,) and `line_ends` (lines,), the layout's literals joined (k,) with their `bounds`
    (literals + 1,) and the `kinds` of the fields between them (literals + 1,), tables of names as `line_scanner` makes
    them. Fills `names` (kinds of names, room), `elapsed` in ms (room,) and `times` in ms (room,), one place for each
    call; adds to `statuses` (statuses,) and `counts` (3,); `first` (statuses,) has where the first line of a status
    starts, -1 before. There must be room for a call of each line."""
    count = 0
    literal_count = len(bounds) - 1
    starts = np.zeros(IGNORED + 1, np.int64)
    ends = np.zeros(IGNORED + 1, np.int64)
    line = 0
    last_transaction = last_service = -1
    last_start, last_end, last_service_start, last_service_end = 0, -1, 0, -1
    for line_end in line_ends:
        end = line_end
        counts[LINES] += 1
        if end > line and text[end - 1] == 13:
            counts[CRLF] += 1
            end -= 1
        if end - line > MAX_LINE_BYTES:
            counts[LONG] += 1
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
                    transactions, number = _numbered(transactions, text, starts[TRANSACTION], ends[TRANSACTION])
                names[TRANSACTION, count] = last_transaction = number
                last_start, last_end = starts[TRANSACTION], ends[TRANSACTION]
                number = last_service
                if not _is_same(text, starts[SERVICE], ends[SERVICE], last_service_start, last_service_end):
                    services, number = _numbered(services, text, starts[SERVICE], ends[SERVICE])
                names[SERVICE, count] = last_service = number
                last_service_start, last_service_end = starts[SERVICE], ends[SERVICE]
                labels, names[LABEL, count] = _numbered(labels, text, starts[LABEL], ends[LABEL])
                methods, names[METHOD, count] = _numbered(methods, text, starts[METHOD], ends[METHOD])
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
