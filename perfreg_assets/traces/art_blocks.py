"""Method traces of ART of the versions 4 (one clock) and 5 (both): blocks of records of any length.

Behind a head of 32 bytes (`SLOW`, version:2, start in ns:8, a counter at the start:8, the counter's rate in Hz:8) stand

```
00 thread:4 length:2 name                  a thread, before its records
01 method:8 length:2 line                  a method, anywhere
02 thread:4 count:3 size:4 records         a block; each number of a record is the difference to the one before in it
03 length:2 text                           the summary, last
```

Two kinds of records go by these versions, told apart by the rate. Where the head has none, as art/runtime/trace.cc
wrote them first, a record is `sleb(method | action)`, then `uleb` of each clock in ns, the wall's first. With a rate,
as Perfetto's art_method_v2_tokenizer.cc reads it, a record is `sleb(counter << 2 | action)`, `sleb` of the thread's
clock if both are told, and `sleb(method)` of an entry only. Early drafts with other blocks do not come out even:
refused.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from perfreg_assets.traces.art_trace import (
    ACTIONS,
    CUT,
    DUAL,
    ENTRY,
    HEAD_BYTES,
    THREAD_CPU,
    ArtTrace,
    Numbers,
    damaged,
    method_name,
    parse_summary,
    text_at,
)

_THREAD, _METHOD, _BLOCK, _SUMMARY = range(4)
_BOTH_CLOCKS = 5
_SECOND_NS = 1_000_000_000
Columns = tuple[Numbers, Numbers, Numbers]
"""(method, action, moment) of each record."""
_LONGEST = 10  # bytes of a number of 64 bits


@dataclass
class _Parts:
    """Blocks are (thread, number of records, their bytes)."""

    threads: dict[int, str] = field(default_factory=dict)
    methods: dict[int, str] = field(default_factory=dict)
    blocks: list[tuple[int, int, bytes]] = field(default_factory=list)
    summary: str = ""


def read_blocks(content: bytes, version: int, name: str) -> ArtTrace:
    """
    Args:
        content: the whole file, unpacked.
        version: 4 or 5. name: of the file, for messages.

    Raises:
        Rejected: PROFILE_DAMAGED.
        struct.error, IndexError: it ends in the middle.
    """
    start_ns, _, rate_hz = struct.unpack_from("<QQQ", content, 6)
    parts = _parts(content, name)
    summary = parse_summary(parts.summary, name)
    if (summary.clock == DUAL) is not (version == _BOTH_CLOCKS):
        raise damaged(name, f"is of version {version}, which is not what its clock {summary.clock} takes")
    if rate_hz and summary.clock == THREAD_CPU:
        raise damaged(name, "tells no wall time, and nobody says how it tells the other: record by clock wall")
    read = _by_counter if rate_hz else _by_method
    columns: list[list[Numbers]] = [[], [], [], []]
    open_methods: dict[int, list[int]] = {}
    for thread, count, block in parts.blocks:
        numbers = _numbers(block, name)
        try:
            found = read(numbers, count, version == _BOTH_CLOCKS, open_methods.setdefault(thread, []))
        except (ValueError, IndexError, OverflowError) as error:
            raise damaged(
                name, f"has a block of {count} records that does not come out even: record it again"
            ) from error
        for column, values in zip(columns, (np.full(count, thread, np.int64), *found), strict=True):
            column.append(values)
    none = np.empty(0, np.int64)
    of_thread, method, action, moment = (np.concatenate([none, *column]) for column in columns)
    at_ns = moment if not rate_hz else (moment.astype(np.float64) * (_SECOND_NS / rate_hz)).astype(np.int64)
    if start_ns >= 1 << 62 or (moment < 0).any() or (moment >= 1 << 60).any():
        raise damaged(name, "has moments that no clock shows: record it again")
    return ArtTrace(int(start_ns), of_thread, method, action, at_ns, parts.threads, parts.methods, summary)


def _parts(content: bytes, name: str) -> _Parts:
    found, at = _Parts(), HEAD_BYTES
    while True:
        kind = content[at]
        if kind == _THREAD:
            number, length = struct.unpack_from("<IH", content, at + 1)
            found.threads[number] = text_at(content, at + 7, length, name)
            at += 7 + length
        elif kind == _METHOD:
            number, length = struct.unpack_from("<QH", content, at + 1)
            found.methods[_signed(number)] = method_name(text_at(content, at + 11, length, name))
            at += 11 + length
        elif kind == _BLOCK:
            (thread,) = struct.unpack_from("<I", content, at + 1)
            count = int.from_bytes(content[at + 5 : at + 8], "little")
            (size,) = struct.unpack_from("<I", content, at + 8)
            block = content[at + 12 : at + 12 + size]
            if len(block) < size:
                raise damaged(name, CUT)
            found.blocks.append((thread, count, block))
            at += 12 + size
        elif kind == _SUMMARY:
            (length,) = struct.unpack_from("<H", content, at + 1)
            found.summary = text_at(content, at + 3, length, name)
            if at + 3 + length != len(content):
                raise damaged(name, "goes on behind its end: copy it again")
            return found
        else:
            raise damaged(name, f"has a part of the unknown kind {kind}: copy it again")


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


@dataclass(frozen=True)
class _Lebs:
    """The numbers (n,) of a block, as if each had a sign and as if none had one."""

    signed: Numbers
    unsigned: Numbers


def _numbers(block: bytes, name: str) -> _Lebs:
    """LEB128: seven bits a byte, the lowest first, the eighth where more follow."""
    raw = np.frombuffer(block, np.uint8)
    last = np.flatnonzero(raw < 0x80)
    if not raw.size:
        return _Lebs(np.empty(0, np.int64), np.empty(0, np.int64))
    if not last.size or last[-1] != raw.size - 1:
        raise damaged(name, "has a block that ends within a number: record it again")
    first = np.concatenate(([0], last[:-1] + 1))
    length = last - first + 1
    if length.max() > _LONGEST:
        raise damaged(name, "has a number of more than 64 bits: record it again")
    shift = (np.arange(raw.size) - np.repeat(first, length)).astype(np.uint64) * np.uint64(7)
    unsigned = np.bitwise_or.reduceat((raw & 0x7F).astype(np.uint64) << shift, first)
    is_negative = (raw[last] & 0x40).astype(bool) & (length < _LONGEST)
    above = ~np.uint64(0) << np.minimum(length.astype(np.uint64) * np.uint64(7), np.uint64(63))
    signed = np.where(is_negative, unsigned | above, unsigned)
    return _Lebs(signed.view(np.int64), unsigned.view(np.int64))


def _by_method(numbers: _Lebs, count: int, has_both: bool, _: list[int]) -> Columns:
    """The methods' numbers wrap at 64 bits as ART's do."""
    width = 3 if has_both else 2
    told = np.cumsum(numbers.signed.reshape(count, width)[:, 0])
    return told & ~ACTIONS, told & ACTIONS, np.cumsum(numbers.unsigned.reshape(count, width)[:, 1])


def _by_counter(
    numbers: _Lebs, count: int, has_both: bool, open_methods: list[int]
) -> tuple[Numbers, Numbers, Numbers]:
    """As `_by_method`; an exit is of the method that the thread entered last.

    Args:
        open_methods: those that the thread is in; changed.
    """
    values = numbers.signed.tolist()
    method, action, moment = [], [], []
    at = told = entered = 0
    for _ in range(count):
        told += values[at]
        at += 2 if has_both else 1
        if told & ACTIONS == ENTRY:
            entered += values[at]
            at += 1
            open_methods.append(entered)
            own = entered
        else:
            own = open_methods.pop() if open_methods else -1
        method.append(own)
        action.append(told & ACTIONS)
        moment.append(told >> 2)
    if at != len(values):
        raise ValueError(at)
    return np.array(method, np.int64), np.array(action, np.int64), np.array(moment, np.int64)
