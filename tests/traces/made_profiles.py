"""Profiles of known content, written as ART, simpleperf and perf write them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

METHODS = {4: "com.example.Main\tonCreate\t()V\tMain.java", 8: "com.example.Main\tload\t(I)V\tMain.java"}
ON_CREATE, LOAD = "com.example.Main.onCreate: ()V", "com.example.Main.load: (I)V"
THREADS = {1: "main", 2: "pool-3"}

Call = tuple[int, int, int, int]
"""Number of the thread and of the method, start and end in µs since the trace began."""


def _events(calls: Iterable[Call]) -> list[tuple[int, int, int, int]]:
    """(moment, thread, method, 0 for entry or 1 for exit): an inner exit before an outer one, an entry last."""
    enters = [(start, 1, -end, thread, method, 0) for thread, method, start, end in calls]
    exits = [(end, 0, -start, thread, method, 1) for thread, method, start, end in calls]
    return [(at, thread, method, action) for at, _, _, thread, method, action in sorted([*enters, *exits])]


def method_trace(
    start_us: int, calls: Iterable[Call], *, clock: str = "dual", streamed: bool = False, elapsed_us: int = 1
) -> bytes:
    """As `Debug.startMethodTracing` writes it, version 3 (2 where one clock is told: `wall` or `thread-cpu`)."""
    is_dual = clock == "dual"
    version, size = (3, 14) if is_dual else (2, 10)
    options = [f"clock={clock}", "data-file-overflow=false", f"elapsed-time-usec={elapsed_us}", "num-method-calls=1"]
    threads = [f"{number}\t{name}" for number, name in THREADS.items()]
    methods = [f"{number:#x}\t{method}" for number, method in METHODS.items()]
    summary = "\n".join(["*version", str(version), *options, "*threads", *threads, "*methods", *methods, "*end", ""])
    mark = version ^ (0xF0 if streamed else 0)
    head = struct.pack("<4sHHQH", b"SLOW", mark, 32, start_us, size).ljust(32, b"\0")
    moments = "<HIII" if is_dual else "<HII"
    records = [
        struct.pack(moments, thread, method | action, *([at // 2] if is_dual else []), at)
        for at, thread, method, action in _events(calls)
    ]
    if not streamed:
        return summary.encode() + head + b"".join(records)
    told = [struct.pack("<HBHH", 0, 2, number, len(name)) + name.encode() for number, name in THREADS.items()]
    told += [
        struct.pack("<HBH", 0, 1, len(line) + 1) + f"{line}\n".encode()
        for line in (f"{number:#x}\t{method}" for number, method in METHODS.items())
    ]
    return head + b"".join([*told, *records]) + struct.pack("<HBI", 0, 3, len(summary)) + summary.encode()


def _sleb(number: int) -> bytes:
    out = bytearray()
    while True:
        byte, number = number & 127, number >> 7
        if (number, byte & 64) in ((0, 0), (-1, 64)):
            return bytes([*out, byte])
        out.append(byte | 128)


def method_blocks(
    start_ns: int, calls: Iterable[Call], *, clock: str = "dual", rate_hz: int = 0, elapsed_ns: int = 1
) -> bytes:
    """As ART writes versions 4 (one clock) and 5: a block of each thread; with a rate moments are counted."""
    both, base = clock == "dual", 0x7000_1234_5000
    out = [struct.pack("<4sHQQQ2x", b"SLOW", (5 if both else 4) | 0xF0, start_ns, 77 if rate_hz else 0, rate_hz)]
    out += [struct.pack("<BIH", 0, number, len(name)) + name.encode() for number, name in THREADS.items()]
    for number, line in METHODS.items():
        out.append(struct.pack("<BQH", 1, base + number, len(line) + 1) + f"{line}\n".encode())
    events = _events(calls)
    for thread in THREADS:
        records, before = [], [0, 0, 0]
        own = [(at, method, action) for at, of, method, action in events if of == thread]
        for at_us, method, action in own:
            at = at_us * rate_hz // 1_000_000 if rate_hz else at_us * 1000
            now = [(at << 2 | action) if rate_hz else (base + method | action), at if not rate_hz else 0, at // 2]
            step = [new - old for new, old in zip(now, before, strict=True)]
            if rate_hz:
                entered = base + method if action == 0 else before[1]
                record = _sleb(step[0]) + (_sleb(step[2]) if both else b"")
                record += _sleb(entered - before[1]) if action == 0 else b""
                now[1] = entered
            else:
                record = _sleb(step[0]) + _varint(step[1]) + (_varint(step[2]) if both else b"")
            records.append(record)
            before = now
        body = b"".join(records)
        out.append(struct.pack("<BI", 2, thread) + len(own).to_bytes(3, "little") + struct.pack("<I", len(body)) + body)
    lines = [
        "*version",
        "5" if both else "4",
        f"clock={clock}",
        f"elapsed-time-nsec={elapsed_ns}",
        "vm=art",
        "*end",
        "",
    ]
    summary = "\n".join(lines)
    return b"".join(out) + struct.pack("<BH", 3, len(summary)) + summary.encode()


# ---- simpleperf report-sample --protobuf -------------------------------------------------------------
Sample = tuple[int, int, Sequence[str]]
"""Moment (ns), thread, functions from the innermost on."""


def report(samples: Iterable[Sample], *, event: str = "cpu-clock:u", period: int = 1_000_000, app: str = "") -> bytes:
    """A report in which all functions are of one file; `?` is one without a symbol."""
    given = list(samples)
    symbols = sorted({name for _, _, names in given for name in names} - {"?"})
    records = [_field(5, _field(1, event) + (_field(2, app) if app else b""))]
    for at, thread, names in given:
        chain = b"".join(
            _field(3, _field(1, 16) + _field(2, 7) + _field(3, symbols.index(name) if name != "?" else -1))
            for name in names
        )
        records.append(_field(1, _field(1, at) + _field(2, thread) + chain + _field(4, period) + _field(5, 0)))
    records.append(_field(2, _field(1, len(given)) + _field(2, 0)))  # what was lost
    records.append(_field(3, _field(1, 7) + _field(2, "/data/lib/libapp.so") + b"".join(_field(3, s) for s in symbols)))
    records += [
        _field(4, _field(1, thread) + _field(2, 10) + _field(3, f"thread-{thread}"))
        for thread in sorted({thread for _, thread, _ in given})
    ]
    body = b"".join(struct.pack("<I", len(one)) + one for one in records)
    return b"SIMPLEPERF" + struct.pack("<H", 1) + body + struct.pack("<I", 0)


def text_report(
    samples: Iterable[Sample], *, event: str = "cpu-clock:u", period: int = 1_000_000, app: str = ""
) -> bytes:
    """As `report`, without --protobuf."""
    given = list(samples)
    lines = ["meta_info:", "  trace_offcpu: false", f"  event_type: {event}"]
    lines += [f"  app_package_name: {app}"] if app else []
    for at, thread, names in given:
        lines += ["sample:", f"  event_type: {event}", f"  time: {at}", f"  event_count: {period}"]
        lines += [f"  thread_id: {thread}", f"  thread_name: thread-{thread}"]
        for depth, name in enumerate(names):
            lines += ["  callchain:"] if depth == 1 else []
            blanks = "    " if depth else "  "
            lines += [f"{blanks}vaddr_in_file: 10", f"{blanks}file: /data/lib/libapp.so"]
            lines += [f"{blanks}symbol: {'unknown' if name == '?' else name}"]
    lines += ["lost_situation:", f"  sample_count: {len(given)}", "  lost_count: 0", ""]
    return "\n".join(lines).encode()


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


# ---- perf.data ---------------------------------------------------------------------------------------
_IP, _TID, _TIME, _CALLCHAIN, _CPU, _PERIOD = 1, 2, 4, 32, 128, 256
_USER_CALLS = (1 << 64) - 512
_START, _LENGTH = 0x10000, 0x10000


_META_INFO = 129


def perf_data(
    samples: Iterable[tuple[int, int, Sequence[int]]], *, event: str = "cpu-clock", period: int = 1_000_000
) -> bytes:
    """As `simpleperf record -e cpu-clock -g` writes it: moment, thread and addresses from the innermost on."""
    told = _TID | _TIME | _IP | _CALLCHAIN | _CPU | _PERIOD
    flags = 1 << 18 | 1 << 25 | 1 << 8 | 1 << 9  # sample_id_all, use_clockid, mmap, comm
    attr = struct.pack("<IIQQQQQ", 1, 112, 0, period, told, 0, flags)
    attr += struct.pack("<IIQQQQIi", 0, 0, 0, 0, 0, 0, 0, 1)  # the last one: CLOCK_MONOTONIC
    attr = attr.ljust(112, b"\0")
    given = list(samples)
    threads = sorted({thread for _, thread, _ in given})
    first = min((at for at, _, _ in given), default=0)
    records = []
    for thread in threads:
        name = f"thread-{thread}".encode().ljust(16, b"\0")
        records.append(_record(3, 2, struct.pack("<II", 10, thread) + name + _behind(first, thread)))
    path = b"/data/lib/libapp.so\0".ljust(24, b"\0")
    place = struct.pack("<IIQQQ", 10, 10, _START, _LENGTH, 0)
    records.append(_record(1, 2, place + path + _behind(first, 10)))
    for at, thread, addresses in given:
        calls = [_USER_CALLS, *(_START + address for address in addresses)]
        body = struct.pack("<QIIQIIQ", calls[1], 10, thread, at, 0, 0, period)
        records.append(_record(9, 2, body + struct.pack(f"<Q{len(calls)}Q", len(calls), *calls)))
    data = b"".join(records)
    head_bytes, attr_bytes = 104, 128
    ids = struct.pack("<Q", 1)
    begin = head_bytes + attr_bytes + len(ids)
    head = b"PERFILE2" + struct.pack(
        "<QQQQQQQQ", head_bytes, attr_bytes, head_bytes, attr_bytes, begin, len(data), 0, 0
    )
    told_of = f"event_type_info\0{event},1,0\0".encode() if event else b""
    features = struct.pack("<QQQQ", 0, 0, 1 << _META_INFO - 128, 0)
    behind = struct.pack("<QQ", begin + len(data) + 16, len(told_of)) + told_of
    return head + features + attr + struct.pack("<QQ", begin - len(ids), len(ids)) + ids + data + behind


def _behind(at: int, thread: int) -> bytes:
    """sample_id_all: thread, moment, core."""
    return struct.pack("<IIQII", 10, thread, at, 0, 0)


def _record(kind: int, misc: int, body: bytes) -> bytes:
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body
