"""Is a Perfetto trace whole to its last byte?

A trace is a protobuf message whose only field is `repeated TracePacket packet = 1`: tag 0x0A, length, packet, and so
on to the end of the file. The trace processor loads a file that ends inside a packet without a word; the framing
tells. Packets are skipped by their length, so the check runs at gigabytes per second on ordinary traces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from perfreg_assets.how_many import how_many
from perfreg_assets.reasons import Reason, Rejected

_PACKET_TAG = 0x0A
_VARINT_BYTES = 10
_SAMPLE_BYTES = 4096
# A bomb of empty packets would cost hours, as each packet is one step: a real packet has a timestamp and a payload.
_MANY_PACKETS = 1_000_000
_PACKET_BYTES_MIN = 8
_LOOKED_INTO_BYTES = 64 << 20
"""No packet that anybody looks into is larger: what Perfetto writes is under 1 MiB, a picture some."""


class PacketFraming:
    """Feed the unpacked bytes in order, then `finish()`.

    Raises (both methods):
        Rejected: TRACE_NOT_PERFETTO, TRACE_CORRUPT or TRACE_TRUNCATED, with the byte offset; what `on_packet` raises.
    """

    def __init__(
        self,
        name: str,
        wanted: re.Pattern[bytes] | None = None,
        on_packet: Callable[[bytes], object] = lambda _: None,
    ) -> None:
        """
        Args:
            on_packet: is given each packet in which `wanted` is found, whole and without its header.
        """
        self._name = name
        self._wanted, self._on_packet = wanted, on_packet
        self._begun: list[bytes] = []  # of the current packet, as far as it has come
        self._begun_bytes = 0  # a packet may come in a million pieces: adding them up at each would take hours
        self._skip = 0  # bytes of the current packet that are still to come
        self._pending = b""  # a packet's header of which the end is still to come
        self._offset = 0  # of the next byte to be fed
        self._sample = b""  # the file's first bytes
        self.packet_count = 0

    def feed(self, chunk: bytes) -> None:
        if len(self._sample) < _SAMPLE_BYTES:
            self._sample += chunk[: _SAMPLE_BYTES - len(self._sample)]
        data = self._pending + chunk if self._pending else chunk
        base = self._offset - len(self._pending)  # the offset of data[0] in the trace
        self._offset += len(chunk)
        self._pending = b""
        position, end, count = self._skip, len(data), 0
        wanted = self._wanted
        if wanted is not None and self._skip:
            self._go_on(data[:position], is_whole=position <= end)
        while position < end:
            if data[position] != _PACKET_TAG:
                raise self._broken(base + position, f"byte 0x{data[position]:02x} where a packet should begin")
            at = position + 1
            length = shift = 0
            while at < end:
                byte = data[at]
                at += 1
                length |= (byte & 0x7F) << shift
                if byte < 0x80:
                    break
                shift += 7
                if shift >= 7 * _VARINT_BYTES:
                    raise self._broken(base + position, "a packet length of more than ten bytes")
            else:  # the header goes on in the next chunk
                self._pending = data[position:]
                position = end
                break
            count += 1
            position = at + length
            if wanted is not None:
                if position > end:
                    self._go_on(data[at:], is_whole=False)
                elif wanted.search(data, at, position):
                    self._on_packet(data[at:position])
        self.packet_count += count
        self._skip = position - end
        if self.packet_count > _MANY_PACKETS and self._offset < _PACKET_BYTES_MIN * self.packet_count:
            raise Rejected(
                Reason.TRACE_CORRUPT,
                f"{self._name}: {self.packet_count} packets of under {_PACKET_BYTES_MIN} bytes each hold no trace data",
            )

    def _go_on(self, piece: bytes, *, is_whole: bool) -> None:
        """The next piece of a packet that reaches over the border of what was fed."""
        self._begun.append(piece)
        self._begun_bytes += len(piece)
        if self._begun_bytes > _LOOKED_INTO_BYTES:
            detail = f"{self._name}: a packet of more than {_LOOKED_INTO_BYTES} bytes"
            raise Rejected(Reason.TRACE_CORRUPT, detail)
        if is_whole:
            packet = b"".join(self._begun)
            self._begun.clear()
            self._begun_bytes = 0
            if self._wanted is not None and self._wanted.search(packet):
                self._on_packet(packet)

    def finish(self) -> None:
        if self._offset == 0:
            raise Rejected(Reason.TRACE_EMPTY, self._name)
        if not self._pending and not self._skip:
            return
        lacking = (
            f"lacking {how_many(self._skip, 'byte')} of its last packet"
            if self._skip
            else "inside the header of a packet"
        )
        if self._skip and not self._is_first_packet_plausible():
            raise Rejected(Reason.TRACE_NOT_PERFETTO, f"{self._name}: {self._offset} bytes that are no trace packets")
        raise Rejected(Reason.TRACE_TRUNCATED, f"{self._name}: ends at byte {self._offset}, {lacking}")

    def _broken(self, offset: int, what: str) -> Rejected:
        reason = Reason.TRACE_CORRUPT
        if offset == 0 or not self._is_first_packet_plausible():
            reason = Reason.TRACE_NOT_PERFETTO
            what += describe_foreign(self._sample)
        return Rejected(reason, f"{self._name}: {what} (offset {offset})")

    def _is_first_packet_plausible(self) -> bool:
        """Whether the first packet reads as protobuf, as far as the sample goes. A text that happens to begin with
        a line feed (0x0A) does not."""
        header = varint(self._sample, 1)
        if header is None:
            return True  # too little to say otherwise
        length, position = header
        end = position + length
        sample = self._sample[:end]
        for number, wire_type, stop in _fields(sample, position):
            if not 0 < number < 1 << 29 or wire_type not in (0, 1, 2, 5) or stop > end:
                return False
        return True


def describe_foreign(head: bytes) -> str:
    """ ", which looks like …" for formats that people mistake for a trace; "" otherwise."""
    known = {
        b"\x89PNG": "a PNG picture",
        b"PK\x03\x04": "a zip archive (unpack it)",
        b"\x1f\x8b": "gzip within gzip (unpack it once)",
        b"<": "an HTML or XML page",
        b"{": "JSON",
        b"[": "JSON",
        b"\0\0\0\0": "a file of zeros",
        b"SQLite format": "an SQLite file",
        b"\x7fELF": "a program",
    }
    return next((f", which looks like {what}" for magic, what in known.items() if head.startswith(magic)), "")


def varint(data: bytes, position: int) -> tuple[int, int] | None:
    """(value, position after it), or None if the data end inside."""
    value = 0
    for index, byte in enumerate(data[position : position + _VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, position + index + 1
    return None


def _fields(data: bytes, position: int) -> Iterator[tuple[int, int, int]]:
    """(field number, wire type, position after the field) as far as the data reach."""
    while position < len(data):
        tag = varint(data, position)
        if tag is None:
            return
        wire_type, (key, position) = tag[0] & 7, tag
        if wire_type in (0, 2):
            value = varint(data, position)
            if value is None:
                return
            position = value[1] + (value[0] if wire_type == 2 else 0)
        elif wire_type in (1, 5):
            position += 8 if wire_type == 1 else 4
        yield key >> 3, wire_type, position
        if wire_type not in (0, 1, 2, 5):
            return
