"""Call logs: a line per method call, plain or gzip, read in blocks that are cut at line ends, by two threads.

What does not fit is counted by what is wrong with it. Fields of literals are found by a compiled scanner; a
regular expression is matched line by line, and is also the slow reference that the scanner must equal.
"""

from __future__ import annotations

import hashlib
import mmap
import queue
import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.call_trees import Calls
from perfreg_assets.methods.line_fields import (
    CALL,
    DECIMAL_COMMA,
    LABEL,
    LABEL_INVALID,
    MAX_LINE_BYTES,
    METHOD,
    NAME_EMPTY,
    NAME_KINDS,
    NO_TIME,
    NUMBER_INVALID,
    SERVICE,
    STATUS_COUNT,
    TRANSACTION,
    UNFIT,
)
from perfreg_assets.methods.line_scanner import Found, Scanner
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.call_log_template import Template
from perfreg_assets.traces.heap import give_back
from perfreg_assets.traces.trace_file import unpacked_chunks

THREADS = 2
BLOCK_BYTES = 1 << 18
PACKED_CALLS = 1 << 15
MAX_BYTES = 64 << 30
SHOWN_CHARACTERS = 160

REASONS = {
    NAME_EMPTY: Reason.CALL_LOG_NAME_EMPTY,
    LABEL_INVALID: Reason.CALL_LOG_LABEL_INVALID,
    NUMBER_INVALID: Reason.CALL_LOG_NUMBER_INVALID,
    DECIMAL_COMMA: Reason.CALL_LOG_DECIMAL_COMMA,
}
"""Why a line that looks like a call is none."""

_OF_TRACE_FILES = {
    Reason.TRACE_FILE_MISSING: Reason.CALL_LOG_MISSING,
    Reason.TRACE_NOT_PERFETTO: Reason.CALL_LOG_MISSING,
    Reason.TRACE_GZIP_DAMAGED: Reason.CALL_LOG_GZIP_DAMAGED,
    Reason.TRACE_TOO_LARGE: Reason.CALL_LOG_TOO_LARGE,
}


@dataclass(frozen=True)
class LineCounts:
    """What became of a log's lines; `line_count` is the sum of calls, other lines, refused ones and the cut one.

    Attributes:
        unfit_count: lines that the template does not fit: other messages.
        refused: lines that it fits and that hold no call, by reason code.
        cut_last_line_count: 1 when the file ends within a line that was left out.
        crlf_count, long_count: lines that end in CR LF; lines of which only the first 64 KiB were looked at.
        not_utf8_count: calls in which a name is not UTF-8 (shown with \\x escapes).
        no_time_count: calls whose line has no time that can be read.
    """

    line_count: int
    call_count: int
    unfit_count: int
    refused: dict[str, int]
    cut_last_line_count: int
    crlf_count: int
    long_count: int
    not_utf8_count: int
    no_time_count: int


@dataclass(frozen=True)
class CallLog:
    """A log's calls.

    Attributes:
        sha256: of the file; None when it was not asked for.
        byte_count: unpacked.
        first_unfit, first_refused: the first line that the template does not fit, and the first that it fits and that
            holds no call, as (number of the line from 1, text); None without one.
    """

    path: Path
    calls: Calls
    counts: LineCounts
    byte_count: int
    sha256: str | None
    first_unfit: tuple[int, str] | None
    first_refused: tuple[int, str] | None


def read_call_log(
    path: Path, template: Template, *, with_sha256: bool = False, threads: int = THREADS, max_bytes: int = MAX_BYTES
) -> CallLog:
    """Reads a log, plain or gzip.

    Args:
        with_sha256: also hash the file.
        threads: how many blocks are scanned at once; the result does not depend on it.

    Raises:
        Rejected: CALL_LOG_MISSING, FOLDER_UNREADABLE, CALL_LOG_GZIP_DAMAGED, CALL_LOG_TOO_LARGE, CALL_LOG_EMPTY,
            CALL_LOG_TEMPLATE_UNFIT, or the reason why every line that looks like a call is none.
    """
    digest = hashlib.sha256() if with_sha256 else None
    file = _File()
    try:
        chunks = unpacked_chunks(path, max_bytes, on_raw=digest.update if digest else None)
        blocks = _blocks(chunks, file)
        found = _packed(
            _by_expression(blocks, template) if template.layout is None else _scanned(blocks, template, threads)
        )
    except Rejected as error:
        if error.reason in _OF_TRACE_FILES:
            raise Rejected(_OF_TRACE_FILES[error.reason], f"{path}") from error
        raise
    if file.byte_count == 0:
        raise Rejected(Reason.CALL_LOG_EMPTY, f"{path}")
    give_back()
    log = _joined(path, template, found, file, digest.hexdigest() if digest else None)
    del found  # the scanners with their names
    give_back()
    return log


@dataclass
class _File:
    """What is known of a file once it was read."""

    byte_count: int = 0


@dataclass
class _Block:
    """Whole lines, and whether the last of them is cut: without line end."""

    data: bytes
    is_cut: bool = False


@dataclass
class _Scanned:
    """A block's calls and the first lines that did not fit, with the scanner that numbered the names."""

    found: Found
    names_of: Scanner | _Expression
    firsts: dict[int, tuple[int, str]]  # status -> (line number in the block from 0, text)
    cut: int = 0


def _blocks(chunks: Iterator[bytes], file: _File) -> Iterator[_Block]:
    """Blocks cut at line ends. Of a line that does not end within its block only so much is kept as is looked at."""
    rest = bytearray()
    for chunk in _pooled(chunks):
        file.byte_count += len(chunk)
        end = chunk.rfind(b"\n") + 1
        if end == 0:
            rest += chunk[: max(0, MAX_LINE_BYTES + 2 - len(rest))]
            continue
        yield _Block(b"".join((rest, memoryview(chunk)[:end])))
        rest = bytearray(chunk[end : end + BLOCK_BYTES])
    if rest:
        yield _Block(bytes(rest), is_cut=True)


def _pooled(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces of about BLOCK_BYTES: a plain file comes in smaller ones."""
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size >= BLOCK_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _packed(blocks: Iterator[_Scanned]) -> list[_Scanned]:
    """All blocks; their calls lie in few large pieces of memory, which are given back one by one as they are joined."""
    done: list[_Scanned] = []
    waiting: list[_Scanned] = []
    for block in blocks:
        waiting.append(block)
        if sum(len(one.found.elapsed_ms) for one in waiting) >= PACKED_CALLS:
            _pack(waiting)
            give_back()
            done += waiting
            waiting = []
    _pack(waiting)
    return done + waiting


def _pack(blocks: list[_Scanned]) -> None:
    ends = np.cumsum([0, *(len(one.found.elapsed_ms) for one in blocks)]).tolist()
    if not ends[-1]:
        return

    def moved(pieces: list[NDArray[Any]]) -> list[NDArray[Any]]:
        # Not from the heap, which keeps what is freed: that would be the size of the log once more.
        place = np.frombuffer(_private(ends[-1] * pieces[0].itemsize), pieces[0].dtype)
        np.concatenate(pieces, out=place)
        return [place[start:end] for start, end in pairwise(ends)]

    for kind in range(NAME_KINDS):
        for one, piece in zip(blocks, moved([one.found.names[kind] for one in blocks]), strict=True):
            one.found.names[kind] = piece
    for one, piece in zip(blocks, moved([one.found.elapsed_ms for one in blocks]), strict=True):
        one.found.elapsed_ms = piece
    for one, piece in zip(blocks, moved([one.found.time_ms for one in blocks]), strict=True):
        one.found.time_ms = piece


def _private(size: int) -> mmap.mmap:
    if hasattr(mmap, "MAP_PRIVATE"):  # not on Windows
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return mmap.mmap(-1, size)


def _scanned(blocks: Iterator[_Block], template: Template, threads: int) -> Iterator[_Scanned]:
    """Blocks scanned by some threads, in the order of the file; at most one more than threads is held."""
    assert template.layout is not None
    free: queue.SimpleQueue[Scanner] = queue.SimpleQueue()
    for _ in range(threads):
        free.put(Scanner(template.layout))

    def scan(block: _Block) -> _Scanned:
        scanner = free.get()
        try:
            text = np.frombuffer(block.data, np.uint8)
            found = scanner.scan(text)
            firsts = {
                status: (block.data.count(b"\n", 0, at), _shown(block.data, at))
                for status, at in enumerate(found.first.tolist())
                if at >= 0 and status != CALL
            }
            return _Scanned(found, scanner, firsts, int(block.is_cut))
        finally:
            free.put(scanner)

    with ThreadPoolExecutor(threads, thread_name_prefix="call-log") as pool:
        waiting: deque[Future[_Scanned]] = deque()
        is_cut_off = False
        for block in blocks:
            if block.is_cut and template.ends_open:
                is_cut_off = True
                break  # it is the last
            waiting.append(pool.submit(scan, block))
            while len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        if is_cut_off:
            yield _cut_off()


class _Expression:
    """Names of the lines that a regular expression matched, numbered as they come."""

    def __init__(self) -> None:
        self.numbers: list[dict[bytes, int]] = [{} for _ in range(NAME_KINDS)]

    def number(self, kind: int, name: bytes) -> int:
        return self.numbers[kind].setdefault(name, len(self.numbers[kind]))

    def names(self, kind: int) -> list[bytes]:
        return list(self.numbers[kind])


def _by_expression(blocks: Iterator[_Block], template: Template) -> Iterator[_Scanned]:
    names = _Expression()
    for block in blocks:
        if block.is_cut and template.ends_open:
            yield _cut_off()
        else:
            yield _match_lines(block, template, names)


def _cut_off() -> _Scanned:
    """A last line of which nobody can say whether it is whole."""
    found = Found(
        [np.empty(0, np.int32) for _ in range(NAME_KINDS)], np.empty(0), np.empty(0, np.int64),
        np.zeros(STATUS_COUNT, np.int64), np.full(STATUS_COUNT, -1), 1, 0, 0,
    )  # fmt: skip
    return _Scanned(found, _Expression(), {}, cut=1)


_LABEL = re.compile(rb"[0-9]{1,9}(?:\.[0-9]{1,9})*")
_NUMBER = re.compile(rb"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_COMMA = re.compile(rb"[0-9]+,[0-9]+")
_TIME = re.compile(rb"\[?([0-9]{4})-([0-9]{2})-([0-9]{2})[ T]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]{0,3}))?")


def _match_lines(block: _Block, template: Template, names: _Expression) -> _Scanned:
    """What the scanner does, by `re` and one line after the other."""
    rows: list[tuple[int, ...]] = []
    elapsed: list[float] = []
    times: list[int] = []
    statuses = np.zeros(STATUS_COUNT, np.int64)
    firsts: dict[int, tuple[int, str]] = {}
    lines = block.data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    crlf_count = sum(line.endswith(b"\r") for line in lines)
    long_count = 0
    for number, whole in enumerate(lines):
        line = whole[:-1] if whole.endswith(b"\r") else whole
        long_count += len(line) > MAX_LINE_BYTES
        line = line[:MAX_LINE_BYTES]
        match = template.pattern.search(line)
        status, value = UNFIT, 0.0
        if match:
            groups = match.groupdict(b"")
            status, value = _value_of(groups, template.elapsed_field)
            if status == CALL:
                fields = (groups["transaction"], groups.get("service", b""), groups["label"], groups["method"])
                rows.append(tuple(names.number(kind, name) for kind, name in enumerate(fields)))
                elapsed.append(value * template.elapsed_unit_ms)
                times.append(_time_of(groups.get("time") or line))
        statuses[status] += 1
        if status != CALL and status not in firsts:
            firsts[status] = (number, _text(whole))
    found = Found(
        list(np.array(rows, np.int32).reshape(-1, NAME_KINDS).T), np.array(elapsed, float), np.array(times, np.int64),
        statuses, np.full(STATUS_COUNT, -1), len(lines), long_count, crlf_count,
    )  # fmt: skip
    return _Scanned(found, names, firsts, int(block.is_cut))


def _value_of(groups: dict[str, bytes], elapsed_field: str) -> tuple[int, float]:
    """(CALL or what is wrong, elapsed time in the template's unit)."""
    if not groups["transaction"] or not groups["method"]:
        return NAME_EMPTY, 0.0
    if not _LABEL.fullmatch(groups["label"]):
        return LABEL_INVALID, 0.0
    text = groups[elapsed_field]
    if _COMMA.fullmatch(text):
        return DECIMAL_COMMA, 0.0
    value = float(text) if _NUMBER.fullmatch(text) else float("nan")
    return (CALL, value) if np.isfinite(value) else (NUMBER_INVALID, 0.0)


def _time_of(text: bytes) -> int:
    match = _TIME.match(text)
    if not match:
        return int(NO_TIME)
    *parts, fraction = match.groups()
    try:
        moment = datetime(*(int(part) for part in parts))  # type: ignore[arg-type]  # six numbers
    except ValueError:
        return int(NO_TIME)
    seconds = (moment - datetime(1970, 1, 1)) // _ONE_SECOND
    return seconds * 1000 + int((fraction or b"").ljust(3, b"0"))


_ONE_SECOND = datetime(1970, 1, 1, 0, 0, 1) - datetime(1970, 1, 1)


def _shown(data: bytes, start: int) -> str:
    end = data.find(b"\n", start)
    return _text(data[start : end if end >= 0 else len(data)])


def _text(line: bytes) -> str:
    """A line for a message: printable, on one line, not longer than can be read."""
    text = line[: 4 * SHOWN_CHARACTERS].decode("utf-8", "backslashreplace").rstrip("\r")
    text = "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in text)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"


@dataclass
class _Sums:
    """Counts over all blocks, and the first line of each kind that is no call."""

    statuses: NDArray[np.int64] = field(default_factory=lambda: np.zeros(STATUS_COUNT, np.int64))
    lines: int = 0
    long: int = 0
    crlf: int = 0
    cut: int = 0
    firsts: dict[int, tuple[int, str]] = field(default_factory=dict)

    def add(self, block: _Scanned, template: Template) -> None:
        if block.cut and not template.ends_open and not block.found.statuses[CALL]:
            block.found.statuses[:] = 0  # the cut line is told apart from lines that do not fit
            block.firsts.clear()
        else:
            block.cut = block.cut if template.ends_open else 0
        for status, (number, text) in block.firsts.items():
            self.firsts.setdefault(status, (self.lines + number + 1, text))
        self.statuses += block.found.statuses
        self.lines += block.found.line_count
        self.long += block.found.long_count
        self.crlf += block.found.crlf_count
        self.cut += block.cut


def _joined(path: Path, template: Template, blocks: list[_Scanned], file: _File, sha256: str | None) -> CallLog:
    """One numbering for the names of all blocks, in the order of the names, so that threads and line order do not
    show."""
    sums = _Sums()
    for block in blocks:
        sums.add(block, template)
    refused = {REASONS[status]: int(sums.statuses[status]) for status in REASONS if sums.statuses[status]}
    unfit, wrong = sums.firsts.pop(UNFIT, None), min(sums.firsts.values(), default=None)
    if not sums.statuses[CALL]:
        raise _no_call(path, template, refused, unfit, wrong)
    sources = list({id(block.names_of): block.names_of for block in blocks}.values())
    columns, names = [], []
    for kind in (TRANSACTION, SERVICE, LABEL, METHOD):
        found = [source.names(kind) for source in sources]
        distinct = sorted(set().union(*found))
        numbers = {name: number for number, name in enumerate(distinct)}
        of_source = {
            id(source): np.fromiter((numbers[name] for name in own), np.int32, len(own))
            for source, own in zip(sources, found, strict=True)
        }
        del found, numbers  # of a log with many transactions they are as large as a column
        columns.append(_column(blocks, kind, of_source))
        names.append(distinct)
    elapsed, times = np.empty(len(columns[0])), np.empty(len(columns[0]), np.int64)
    end = 0
    for block in blocks:
        start, end = end, end + len(block.found.elapsed_ms)
        elapsed[start:end], times[start:end] = block.found.elapsed_ms, block.found.time_ms
        block.found.elapsed_ms, block.found.time_ms = np.empty(0), np.empty(0, np.int64)
    transactions, services, labels, methods = (
        tuple(name.decode("utf-8", "backslashreplace") for name in kind) for kind in names
    )
    transaction, service, label, method = columns
    calls = Calls(transaction, service, label, method, elapsed, times, transactions, services, labels, methods)
    counts = LineCounts(
        line_count=sums.lines,
        call_count=len(elapsed),
        unfit_count=int(sums.statuses[UNFIT]),
        refused={reason.code: count for reason, count in refused.items()},
        cut_last_line_count=sums.cut,
        crlf_count=sums.crlf,
        long_count=sums.long,
        not_utf8_count=_not_utf8(columns, names),
        no_time_count=int(np.count_nonzero(times == NO_TIME)),
    )
    return CallLog(path, calls, counts, file.byte_count, sha256, unfit, wrong)


def _column(blocks: list[_Scanned], kind: int, of_source: dict[int, NDArray[np.int32]]) -> NDArray[np.int32]:
    """A column of names, numbered anew; what is joined is given back, a log may be as large as the memory."""
    column = np.empty(sum(len(block.found.names[kind]) for block in blocks), np.int32)
    end = 0
    for block in blocks:
        start, end = end, end + len(block.found.names[kind])
        np.take(of_source[id(block.names_of)], block.found.names[kind], out=column[start:end], mode="clip")
        block.found.names[kind] = np.empty(0, np.int32)
    return column


def _not_utf8(columns: list[NDArray[np.int32]], names: list[list[bytes]]) -> int:
    is_odd = np.zeros(len(columns[0]), bool)
    for column, kind in zip(columns, names, strict=True):
        odd = [number for number, name in enumerate(kind) if not _is_utf8(name)]
        if odd:
            is_odd |= np.isin(column, odd)
    return int(np.count_nonzero(is_odd))


def _is_utf8(name: bytes) -> bool:
    try:
        name.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _no_call(
    path: Path,
    template: Template,
    refused: dict[Reason, int],
    unfit: tuple[int, str] | None,
    wrong: tuple[int, str] | None,
) -> Rejected:
    if refused and wrong:
        worst = max(refused, key=lambda reason: refused[reason])
        return Rejected(worst, f"{path}: no line holds a call, line {wrong[0]} is '{wrong[1]}'")
    if unfit is None:
        return Rejected(Reason.CALL_LOG_EMPTY, f"{path}: its only line is cut short")
    return Rejected(
        Reason.CALL_LOG_TEMPLATE_UNFIT, f"{path}: line {unfit[0]} '{unfit[1]}' does not fit '{template.text}'"
    )
