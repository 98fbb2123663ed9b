"""What `simpleperf report-sample --protobuf --show-callchain` writes: samples of call stacks, with their functions.

The file is `SIMPLEPERF`, a version, then records with their length before each; names of functions and threads come
behind the samples that use them. See cmd_report_sample.proto in Android's system/extras/simpleperf.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError, Message
from numpy.typing import NDArray

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.profile_files import REPORT_MAGIC

_HEAD = struct.Struct("<10sH")
_LENGTH = struct.Struct("<I")
_VERSION = 1
_FIELDS = {
    "CallChainEntry": "file_id=2:uint32 symbol_id=3:int32",
    "Sample": "time=1:uint64 thread_id=2:int32 callchain=3:CallChainEntry* event_count=4:uint64 event_type_id=5:uint32",
    "File": "id=1:uint32 path=2:string symbol=3:string*",
    "Thread": "thread_id=1:uint32 process_id=2:uint32 thread_name=3:string",
    "MetaInfo": "event_type=1:string* app_package_name=2:string",
    "Record": "sample=1:Sample file=3:File thread=4:Thread meta_info=5:MetaInfo",
}
"""Of each message what is read: name=number:type, `*` where there are several."""
_TYPES = {
    "uint32": descriptor_pb2.FieldDescriptorProto.TYPE_UINT32,
    "int32": descriptor_pb2.FieldDescriptorProto.TYPE_INT32,
    "uint64": descriptor_pb2.FieldDescriptorProto.TYPE_UINT64,
    "string": descriptor_pb2.FieldDescriptorProto.TYPE_BYTES,  # names need not be UTF-8
}

Frame = tuple[int, int]
"""Numbers of file and symbol."""


@dataclass
class Report:
    """Attributes:
    time_ns, event_count: (n,) of each sample: its moment and the events that it stands for. stack: (n,) which of
        `stacks` it saw: thread, number of the event's type and frames, the innermost first.
    symbols: file → names of its functions. files: file → its path. threads: thread → process and name.
    event_types: names. app: the package that was recorded, where it was one.
    """

    time_ns: NDArray[np.int64]
    event_count: NDArray[np.int64]
    stack: NDArray[np.int64]
    stacks: list[tuple[int, int, tuple[Frame, ...]]]
    symbols: dict[int, list[str]] = field(default_factory=dict)
    files: dict[int, str] = field(default_factory=dict)
    threads: dict[int, tuple[int, str]] = field(default_factory=dict)
    event_types: list[str] = field(default_factory=list)
    app: str = ""

    def name(self, frame: Frame) -> str:
        """A function, by its file where it has no name."""
        file, symbol = frame
        names = self.symbols.get(file, [])
        return names[symbol] if 0 <= symbol < len(names) else f"[{self.files.get(file, '?').rpartition('/')[2]}]"


def read_report(chunks: Iterable[bytes], name: str) -> Report:
    """All of a file, given in pieces.

    Args:
        name: of the file, for messages.

    Raises:
        Rejected: PROFILE_DAMAGED.
    """
    times: list[int] = []
    counts: list[int] = []
    stack: list[int] = []
    known: dict[tuple[int, int, tuple[Frame, ...]], int] = {}
    none = np.empty(0, np.int64)
    report = Report(none, none, none, [])
    for record in _records(chunks, name):
        kind = record.WhichOneof("data")
        if kind == "sample":
            one = record.sample
            frames = tuple((entry.file_id, entry.symbol_id) for entry in one.callchain)
            times.append(one.time)
            counts.append(one.event_count)
            stack.append(known.setdefault((one.thread_id, one.event_type_id, frames), len(known)))
        elif kind == "file":
            report.files[record.file.id] = _text(record.file.path)
            report.symbols[record.file.id] = [_text(symbol) for symbol in record.file.symbol]
        elif kind == "thread":
            report.threads[record.thread.thread_id] = (record.thread.process_id, _text(record.thread.thread_name))
        elif kind == "meta_info":
            report.event_types = [_text(event) for event in record.meta_info.event_type]
            report.app = _text(record.meta_info.app_package_name)
    try:
        report.time_ns, report.event_count = np.array(times, np.int64), np.array(counts, np.int64)
    except OverflowError as error:
        raise Rejected(Reason.PROFILE_DAMAGED, f"{name}: a sample's time or count is out of range") from error
    report.stack, report.stacks = np.array(stack, np.int64), list(known)
    return report


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _records(chunks: Iterable[bytes], name: str) -> Iterator[Message]:
    held = _Held(chunks, name)
    magic, version = _HEAD.unpack(held.take(_HEAD.size))
    if magic != REPORT_MAGIC or version != _VERSION:
        raise Rejected(Reason.PROFILE_DAMAGED, f"{name}: not version {_VERSION} of simpleperf's report")
    while length := _LENGTH.unpack(held.take(_LENGTH.size))[0]:
        try:
            yield _RECORD.FromString(held.take(length))
        except DecodeError as error:
            raise Rejected(Reason.PROFILE_DAMAGED, f"{name}: {error}") from error


class _Held:
    """Pieces of a file, handed out in other lengths."""

    def __init__(self, chunks: Iterable[bytes], name: str) -> None:
        self._chunks, self._name = iter(chunks), name
        self._held, self._at = b"", 0

    def take(self, count: int) -> bytes:
        while len(self._held) - self._at < count:
            chunk = next(self._chunks, None)
            if chunk is None:
                raise Rejected(Reason.PROFILE_DAMAGED, f"{self._name} ends in the middle: copy it again")
            self._held, self._at = self._held[self._at :] + chunk, 0
        self._at += count
        return self._held[self._at - count : self._at]


def _record_class() -> type[Message]:
    """The class of messages that `_FIELDS` tells; made here, so that no generated code has to be kept."""
    file = descriptor_pb2.FileDescriptorProto(name="perfreg/simpleperf.proto", package="perfreg", syntax="proto2")
    for message, fields in _FIELDS.items():
        made = file.message_type.add(name=message)
        if message == "Record":
            made.oneof_decl.add(name="data")
        for text in fields.split():
            name, _, told = text.partition("=")
            number, _, kind = told.partition(":")
            one = made.field.add(name=name, number=int(number))
            one.label = one.LABEL_REPEATED if kind.endswith("*") else one.LABEL_OPTIONAL
            kind = kind.removesuffix("*")
            if kind in _TYPES:
                one.type = _TYPES[kind]
            else:
                one.type, one.type_name = one.TYPE_MESSAGE, f".perfreg.{kind}"
            if message == "Record":
                one.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found: type[Message] = message_factory.GetMessageClass(pool.FindMessageTypeByName("perfreg.Record"))
    return found


_RECORD = _record_class()
