"""How much a trace unpacks to inside the engine: packets of compressed packets, counted before any engine sees them.

A packet may hold others in its field `compressed_packets` (deflate, or zstd): the file's own size says nothing about
what they become. The engine unpacks them one within another to any depth; Perfetto's service never writes more than one
level, so a second one is refused.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.framing import PacketFraming, varint
from perfreg_assets.traces.work_limit import WorkLimit

_DEFLATE, _ZSTD = 50, 133
# The beginnings of both fields' tags, in the shortest spelling and in the longer ones that the engine takes, too. What
# looks like one need not be one: this only spares most packets a walk over their fields.
_LOOKS_PACKED = re.compile(rb"\x92[\x03\x83]|\xaa[\x08\x88]")
_FIELD_NUMBERS = 0xFFFF_FFFF  # the engine keeps so many bits
_FIELDS_MAX = 10_000  # of one packet; there are under 200 kinds
_PIECE_BYTES = 4 << 20
_ZLIB_OR_GZIP = 47
_LENGTH_DELIMITED = 2


class NestedPackets:
    """Counts; `framing` walks the trace.

    Args:
        max_bytes: of file and nested packets together, unpacked.
        work: of the whole walk.
    """

    def __init__(self, name: str, max_bytes: int, work: WorkLimit) -> None:
        self._name, self._max_bytes, self._work = name, max_bytes, work
        self.framing = PacketFraming(name, _LOOKS_PACKED, self._count)
        self.total_bytes = 0
        self.packet_count = 0

    def _count(self, packet: bytes) -> None:
        for number, payload in _payloads(packet, self._name):
            inner = PacketFraming(f"{self._name}, compressed packets", _LOOKS_PACKED, self._refuse)
            try:
                for piece in _zstd(payload) if number == _ZSTD else _deflate(payload):
                    self.total_bytes += len(piece)
                    if self.total_bytes > self._max_bytes:
                        detail = f"{self._name}: its compressed packets unpack to more than {self._max_bytes} bytes"
                        raise Rejected(Reason.TRACE_TOO_LARGE, detail)
                    inner.feed(piece)
                    self._work.check()
                inner.finish()
            except (zlib.error, OSError) as error:
                raise Rejected(Reason.TRACE_CORRUPT, f"{self._name}: compressed packets: {error}") from error
            except Rejected as rejected:
                if rejected.reason in (Reason.TRACE_TOO_LARGE, Reason.TRACE_TOO_SLOW):
                    raise
                raise Rejected(Reason.TRACE_CORRUPT, rejected.detail) from rejected
            self.packet_count += inner.packet_count

    def _refuse(self, packet: bytes) -> None:
        for _ in _payloads(packet, self._name):
            raise Rejected(Reason.TRACE_CORRUPT, f"{self._name}: compressed packets within compressed packets")


def _payloads(packet: bytes, name: str) -> Iterator[tuple[int, bytes]]:
    """(_DEFLATE or _ZSTD, content) of each such field, as far as the packet can be read."""
    position = 0
    for _ in range(_FIELDS_MAX):
        tag = varint(packet, position)
        if tag is None or position >= len(packet):
            return
        kind, number, position = tag[0] & 7, tag[0] >> 3 & _FIELD_NUMBERS, tag[1]
        value: tuple[int, int] | None
        if kind in (0, _LENGTH_DELIMITED):
            value = varint(packet, position)
        elif kind in (1, 5):
            value = 0, position + (8 if kind == 1 else 4)
        else:
            return
        if value is None:
            return
        position = value[1]
        if kind == _LENGTH_DELIMITED:
            if number in (_DEFLATE, _ZSTD) and position + value[0] <= len(packet):
                yield number, packet[position : position + value[0]]
            position += value[0]
    raise Rejected(Reason.TRACE_CORRUPT, f"{name}: a packet of more than {_FIELDS_MAX} fields")


def _deflate(payload: bytes) -> Iterator[bytes]:
    stream = zlib.decompressobj(_ZLIB_OR_GZIP)
    while not stream.eof:
        piece = stream.decompress(payload, _PIECE_BYTES)
        payload = stream.unconsumed_tail
        if piece:
            yield piece
        elif not payload:
            raise zlib.error("the stream has no end")


def _zstd(payload: bytes) -> Iterator[bytes]:
    import pyarrow as pa  # noqa: PLC0415  (few traces have any)

    with pa.CompressedInputStream(pa.BufferReader(payload), "zstd") as stream:
        while piece := stream.read(_PIECE_BYTES):
            yield piece
