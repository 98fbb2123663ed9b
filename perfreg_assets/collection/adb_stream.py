"""How adb's shell v2 and sync services frame what goes over a connection.

The exit packet is the only proof that a command ended; a vanished device looks like a normal end of stream.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator

import adbutils
from adbutils.errors import AdbTimeout

STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = range(5)
"""Kinds of packets of the shell service."""
CHUNK_BYTES = 64 * 1024


def send_stdin(connection: adbutils.AdbConnection, data: bytes) -> None:
    """All of a command's standard input, and its end."""
    for start in range(0, len(data), CHUNK_BYTES):
        chunk = data[start : start + CHUNK_BYTES]
        connection.conn.sendall(struct.pack("<BI", STDIN, len(chunk)) + chunk)
    connection.conn.sendall(struct.pack("<BI", CLOSE_STDIN, 0))


def packets(connection: adbutils.AdbConnection, deadline: float) -> Iterator[tuple[int, bytes]]:
    """Packets of the shell service until the stream ends; AdbTimeout when `deadline` passes."""
    while True:
        connection.conn.settimeout(remaining_s(deadline))
        header = connection.read(5)
        if len(header) < 5:
            return
        kind, length = struct.unpack("<BI", header)
        data = connection.read(length)
        if len(data) < length:
            return
        yield kind, data


def send_sync(connection: adbutils.AdbConnection, command: bytes, argument: bytes) -> None:
    """A request of the sync service: four letters and what they are about."""
    connection.conn.sendall(command + struct.pack("<I", len(argument)) + argument)


def remaining_s(deadline: float) -> float:
    """Seconds until `deadline` (of the monotonic clock); AdbTimeout when it has passed."""
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise AdbTimeout("the time limit has passed")
    return remaining
