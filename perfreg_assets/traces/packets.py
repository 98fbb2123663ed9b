"""A trace as a stream of blocks of whole packets, in bounded memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from perfreg_assets.methods.lazy import LazyModule
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.trace_file import unpacked_chunks

scanner = LazyModule("perfreg_assets.methods.packet_scanner")

PROCESS_TREE, CLOCK_SNAPSHOT, TRACK_DESCRIPTOR = 2, 6, 60
_INFLATED_BYTES = 256 << 20  # of one packet of compressed packets; Perfetto writes them by the buffer page


class Block(NamedTuple):
    """Whole packets: `data` (bytes,), and per packet a row of `rows` (n, packet_scanner.COLUMNS)."""

    data: NDArray[np.uint8]
    rows: NDArray[np.int64]

    def payload(self, number: int) -> bytes:
        """Its payload."""
        row = self.rows[number]
        return self.data[row[scanner.AT] : row[scanner.AT] + row[scanner.LENGTH]].tobytes()

    def message(self, number: int) -> bytes:
        """The packet without tag and length: a serialized TracePacket."""
        row = self.rows[number]
        at = int(row[scanner.OFFSET]) + 1
        while self.data[at] >= 0x80:
            at += 1
        return self.data[at + 1 : row[scanner.END]].tobytes()


def blocks_of(path: Path, max_bytes: int) -> Iterator[Block]:
    """The packets of a trace file, unpacked if it is gzip; packets of compressed packets as they stand.

    Raises:
        Rejected: as `unpacked_chunks`; TRACE_NOT_PERFETTO, TRACE_CORRUPT, TRACE_TRUNCATED.
    """
    return blocks_of_chunks(unpacked_chunks(path, max_bytes), path.name)


def blocks_of_chunks(chunks: Iterable[bytes], name: str) -> Iterator[Block]:
    """The same of bytes that come in pieces of any size."""
    rest, offset = b"", 0
    for chunk in chunks:
        joined = rest + chunk
        data = np.frombuffer(joined, np.uint8)
        rows, used, is_broken = scanner.scan_packets(data)
        if len(rows):
            yield Block(data, rows)
        if is_broken:
            reason = Reason.TRACE_CORRUPT if offset + used else Reason.TRACE_NOT_PERFETTO
            raise Rejected(reason, f"{name}: no packet begins at offset {offset + used}")
        rest, offset = joined[used:], offset + used
    if rest:
        raise Rejected(Reason.TRACE_TRUNCATED, f"{name}: ends inside the packet that begins at offset {offset}")


def packed_packets(block: Block) -> list[int]:
    """Numbers of the packets that are compressed packets."""
    fields = block.rows[:, scanner.FIELD]
    return np.flatnonzero((fields == scanner.COMPRESSED) | (fields == scanner.ZSTD_COMPRESSED)).tolist()


def inflated(block: Block, number: int, name: str) -> Block:
    """The packets inside a packet of compressed packets.

    Raises:
        Rejected: TRACE_CORRUPT, TRACE_TOO_LARGE.
    """
    is_zstd = block.rows[number, scanner.FIELD] == scanner.ZSTD_COMPRESSED
    try:
        content, is_whole = (_unpacked_zstd if is_zstd else _unpacked_deflate)(block.payload(number))
    except (zlib.error, OSError) as error:
        raise Rejected(Reason.TRACE_CORRUPT, f"{name}: compressed packets: {error}") from error
    if len(content) > _INFLATED_BYTES:
        raise Rejected(Reason.TRACE_TOO_LARGE, f"{name}: one packet unpacks to more than {_INFLATED_BYTES} bytes")
    data = np.frombuffer(content, np.uint8)
    rows, used, _ = scanner.scan_packets(data)
    if not is_whole or used != len(data):
        raise Rejected(Reason.TRACE_CORRUPT, f"{name}: compressed packets end in the middle of one")
    return Block(data, rows)


def _unpacked_deflate(payload: bytes) -> tuple[bytes, bool]:
    """(at most a byte more than allowed, whether the stream has its end)."""
    stream = zlib.decompressobj()
    content = stream.decompress(payload, _INFLATED_BYTES + 1)
    return content, stream.eof


def _unpacked_zstd(payload: bytes) -> tuple[bytes, bool]:
    with pa.CompressedInputStream(pa.BufferReader(payload), "zstd") as stream:
        return stream.read(_INFLATED_BYTES + 1), True  # a stream without its end is an error


def flat_blocks(path: Path, max_bytes: int) -> Iterator[Block]:
    """As `blocks_of`, with compressed packets unpacked in place: what reads events need not know of them."""
    for block in blocks_of(path, max_bytes):
        packed = packed_packets(block)
        if not packed:
            yield block
            continue
        begin = 0
        for number in packed:
            if number > begin:
                yield Block(block.data, block.rows[begin:number])
            yield inflated(block, number, path.name)
            begin = number + 1
        if begin < len(block.rows):
            yield Block(block.data, block.rows[begin:])


def framed(message: bytes) -> bytes:
    """A serialized TracePacket with tag and length."""
    length, head = len(message), bytearray(b"\x0a")
    while length >= 0x80:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    head.append(length)
    return bytes(head) + message
