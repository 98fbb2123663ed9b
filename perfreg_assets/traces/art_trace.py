"""Method traces of ART as they lie in a file: which thread entered and left which method when.

The formats are those of art/runtime/trace.cc. Versions 1 to 3 have records of one length, behind a summary in text, or
streamed between names of threads and methods. Versions 4 and 5 have records of any length: see `art_blocks`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.reasons import Reason, Rejected

MAGIC, SUMMARY_MAGIC = b"SLOW", b"*version\n"
HEAD_BYTES = 32
US = 1_000
WALL, DUAL, THREAD_CPU = "wall", "dual", "thread-cpu"
ENTRY, EXIT, UNWIND = 0, 1, 2
_STREAMED = 0xF0
_METHODS, _THREADS, _SUMMARY = 1, 2, 3
_NEWEST = 3
_CLOCKS = {WALL, DUAL, THREAD_CPU}
_WRAP_US = 1 << 32
ACTIONS = 3
_OLDEST_BYTES, _DUAL_BYTES = 9, 14
_FEWEST_LOOKED_AT = 32
CUT = "ends in the middle: copy it again"

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Summary:
    """Attributes:
    clock: by which moments are told. elapsed_ns: how long was traced; None where it does not say.
    lines: of the sections `threads` and `methods`.
    """

    clock: str
    elapsed_ns: int | None
    lines: Mapping[str, list[str]]


@dataclass(frozen=True)
class ArtTrace:
    """Attributes:
    start_ns: of the trace, by the monotonic clock.
    thread, method, action, at_ns: (n,) of each record, those of one thread in their order: number of the thread and the
        method (-1 in the exits of formats that do not tell it), `ENTRY`, `EXIT` or `UNWIND`, and when: ns since the
        start, by the clock `thread-cpu` ns that the thread had run since its first record.
    threads, methods: number → name.
    """

    start_ns: int
    thread: Numbers
    method: Numbers
    action: Numbers
    at_ns: Numbers
    threads: Mapping[int, str]
    methods: Mapping[int, str]
    summary: Summary


def damaged(name: str, what: str) -> Rejected:
    return Rejected(Reason.PROFILE_DAMAGED, f"{name} {what}")


def version_of(content: bytes, name: str, at: int = 0) -> int:
    """Of the head at a place, streamed or not.

    Raises:
        Rejected: PROFILE_DAMAGED.
    """
    if len(content) < at + HEAD_BYTES:
        raise damaged(name, CUT)
    told = int(struct.unpack_from("<H", content, at + len(MAGIC))[0])
    return told & ~_STREAMED


def read_records(content: bytes, name: str) -> ArtTrace:
    """A file of the versions 1 to 3.

    Args:
        content: the whole file, unpacked.
        name: of the file, for messages.

    Raises:
        Rejected: PROFILE_DAMAGED.
        struct.error, IndexError: it ends in the middle.
    """
    return _of_file(content, name) if content.startswith(SUMMARY_MAGIC) else _of_stream(content, name)


def parse_summary(text: str, name: str) -> Summary:
    """
    Raises:
        Rejected: PROFILE_DAMAGED.
    """
    options: dict[str, str] = {}
    sections: dict[str, list[str]] = {}
    section = ""
    for line in text.split("\n"):
        if line.startswith("*"):
            section = line[1:]
        elif section == "version":
            key, equals, value = line.partition("=")
            if equals:
                options[key] = value
        elif line:
            sections.setdefault(section, []).append(line)
    clock = options.get("clock", THREAD_CPU)  # what traces had before they told it
    if clock not in _CLOCKS:
        raise damaged(name, f"has the clock {clock[:40]!r}; known are {', '.join(sorted(_CLOCKS))}")
    units = {"elapsed-time-usec": US, "elapsed-time-nsec": 1}
    told = [int(options[key]) * unit for key, unit in units.items() if options.get(key, "").isdecimal()]
    return Summary(clock, told[0] if told else None, sections)


def method_name(line: str) -> str:
    """`class.method: signature` of what a line tells behind the number of a method."""
    parts = line.rstrip("\n").split("\t")
    if len(parts) < 3 or not parts[2].startswith("("):
        return parts[0]
    return f"{parts[0]}.{parts[1]}: {parts[2]}"


def _head(content: bytes, at: int, version: int, name: str) -> tuple[int, int, int]:
    """Start in ns, where the records begin, and how long each is."""
    data, start_us = struct.unpack_from("<HQ", content, at + 6)
    size = {1: 9, 2: 10}.get(version) or int(struct.unpack_from("<H", content, at + 16)[0])
    if data < 16 or size not in (9, 10, 14) or start_us >= 1 << 53:
        raise damaged(name, "has a head that says nothing of use: record it again")
    return int(start_us) * US, at + int(data), size


def _of_file(content: bytes, name: str) -> ArtTrace:
    """The summary first, then the records."""
    end = content.find(b"*end\n")
    if end < 0:
        raise damaged(name, CUT)
    summary = parse_summary(content[:end].decode("utf-8", "backslashreplace"), name)
    at = end + len(b"*end\n")
    if content[at : at + len(MAGIC)] != MAGIC:
        raise damaged(name, "has no records behind its summary: copy it again")
    version = version_of(content, name, at)
    if not 1 <= version <= _NEWEST:
        raise damaged(name, f"has records of version {version} behind a summary, where 1 to {_NEWEST} are known")
    start_ns, at, size = _head(content, at, version, name)
    if (len(content) - at) % size:
        raise damaged(name, CUT)
    threads = {}
    for line in summary.lines.get("threads", ()):
        number, _, thread = line.partition("\t")
        threads[_number(number, 10, name)] = thread
    methods = _methods(summary.lines.get("methods", ()), name)
    return _trace(start_ns, [content[at:]], size, threads, methods, summary, name)


def _of_stream(content: bytes, name: str) -> ArtTrace:
    """Records, and among them names of threads and methods before they are used; the summary last."""
    start_ns, at, size = _head(content, 0, version_of(content, name), name)
    threads: dict[int, str] = {}
    lines: list[str] = []
    parts: list[bytes] = []
    while True:
        of_records = _stretch(content, at, size, name)
        if of_records:
            parts.append(content[at : at + of_records])
            at += of_records
        kind = content[at + 2]
        at += 3
        if kind == _SUMMARY:
            (length,) = struct.unpack_from("<I", content, at)
            text = text_at(content, at + 4, length, name)
            if at + 4 + length != len(content):
                raise damaged(name, "goes on behind its end: copy it again")
            summary = parse_summary(text, name)
            return _trace(start_ns, parts, size, threads, _methods(lines, name), summary, name)
        if kind == _METHODS:
            (length,) = struct.unpack_from("<H", content, at)
            lines.append(text_at(content, at + 2, length, name))
            at += 2 + length
        elif kind == _THREADS:
            number, length = struct.unpack_from("<HH", content, at)
            threads[number] = text_at(content, at + 4, length, name)
            at += 4 + length
        else:
            raise damaged(name, f"has a part of the unknown kind {kind}: copy it again")


def _stretch(content: bytes, at: int, size: int, name: str) -> int:
    """How many bytes of records stand here, up to one of a thread 0, which there is not."""
    begin, look = at, _FEWEST_LOOKED_AT
    while True:
        count = min(look, (len(content) - at) // size)
        raw = np.frombuffer(content, np.uint8, count * size, at).reshape(count, size)
        ends = np.flatnonzero((raw[:, 0] == 0) & (raw[:, 1] == 0))
        if ends.size:
            return at + int(ends[0]) * size - begin
        at += count * size
        look *= 2
        if len(content) - at < size:  # a mark may be shorter than a record
            if content[at : at + 2] == b"\0\0":
                return at - begin
            raise damaged(name, CUT)


def text_at(content: bytes, at: int, length: int, name: str) -> str:
    """
    Raises:
        Rejected: PROFILE_DAMAGED: it ends before.
    """
    if at + length > len(content):
        raise damaged(name, CUT)
    return content[at : at + length].decode("utf-8", "backslashreplace")


def _number(text: str, base: int, name: str) -> int:
    try:
        return int(text, base)
    except ValueError:
        raise damaged(name, f"has {text[:40]!r} where a number should be: copy it again") from None


def _methods(lines: Iterable[str], name: str) -> dict[int, str]:
    """Number → name, of lines that begin with a number."""
    found = {}
    for line in lines:
        number, _, told = line.partition("\t")
        found[_number(number, 16, name)] = method_name(told)
    return found


def _trace(
    start_ns: int,
    parts: list[bytes],
    size: int,
    threads: Mapping[int, str],
    methods: Mapping[int, str],
    summary: Summary,
    name: str,
) -> ArtTrace:
    """Of records of one length."""
    if (size == _DUAL_BYTES) is not (summary.clock == DUAL):
        raise damaged(name, f"has records of {size} bytes, which is not what its clock {summary.clock} takes")
    of_thread = "u1" if size == _OLDEST_BYTES else "<u2"
    moments = [("cpu", "<u4"), ("at", "<u4")] if size == _DUAL_BYTES else [("at", "<u4")]
    records = np.frombuffer(b"".join(parts), np.dtype([("thread", of_thread), ("method", "<u4"), *moments]))
    thread, at_us = records["thread"].astype(np.int64), records["at"].astype(np.int64)
    order = np.argsort(thread, kind="stable")
    own, of = at_us[order], thread[order]
    back = (np.diff(own, prepend=0) < -(_WRAP_US // 2)) & (np.diff(of, prepend=-1) == 0)
    wraps = np.cumsum(back)  # 32 bits of microseconds are 71 minutes
    before = np.maximum.accumulate(np.where(np.diff(of, prepend=-1) != 0, wraps, 0))
    at_us[order] = own + (wraps - before) * _WRAP_US
    told = records["method"].astype(np.int64)
    return ArtTrace(start_ns, thread, told & ~ACTIONS, told & ACTIONS, at_us * US, threads, methods, summary)
