"""Reads a trace file as a stream of unpacked bytes: plain or gzip, bounded in memory and in unpacked size."""

from __future__ import annotations

import errno
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.regular_file import open_regular, resolved

GZIP_MAGIC = b"\x1f\x8b"
_READ_BYTES = 1 << 20
_GZIP_READ_BYTES = 64 << 10  # small, because zlib copies the rest of a piece at every member's end
_UNPACK_BYTES = 4 << 20
_GZIP_WINDOW = 31  # zlib: gzip header and trailer, checked


def unpacked_chunks(path: Path, max_bytes: int, *, on_raw: Callable[[bytes], object] | None = None) -> Iterator[bytes]:
    """The trace's bytes, unpacked if the file is gzip, in pieces of at most 4 MiB.

    Never more than a few MiB are held, whatever a gzip stream unpacks to, and reading stops at `max_bytes`.

    Args:
        on_raw: is given every piece of the file as it is on disk (for its SHA-256).

    Raises:
        Rejected: TRACE_FILE_MISSING, FOLDER_UNREADABLE, TRACE_NOT_PERFETTO (not a regular file), TRACE_GZIP_DAMAGED,
            TRACE_TOO_LARGE.
    """
    total = 0
    pieces = _raw(path, on_raw or (lambda _: None))
    first = next(pieces, b"")
    chunks = _plain(first, pieces) if first[:2] != GZIP_MAGIC else _gunzip(path.name, _small(first, pieces))
    for chunk in chunks:
        total += len(chunk)
        if total > max_bytes:
            raise Rejected(Reason.TRACE_TOO_LARGE, f"{path.name}: more than {max_bytes} bytes")
        yield chunk


class SmallTrace:
    """Keeps the unpacked trace while it is small, so that a file which was checked need not be read and unpacked again.

    Args:
        max_bytes: of which nothing is kept any more once the trace is larger.
    """

    def __init__(self, max_bytes: int) -> None:
        self._chunks: list[bytes] = []
        self._left = max_bytes

    def add(self, chunk: bytes) -> None:
        """The next piece."""
        self._left -= len(chunk)
        if self._left < 0:
            self._chunks.clear()
        else:
            self._chunks.append(chunk)

    def take(self) -> bytes | None:
        """All of it in one piece, which is not kept here any longer; None if it was too large, or never read."""
        content = b"".join(self._chunks) if self._chunks else None
        self._chunks.clear()
        return content


def _raw(path: Path, on_raw: Callable[[bytes], object]) -> Iterator[bytes]:
    try:
        with open_regular(resolved(path)) as file:
            while piece := file.read(_READ_BYTES):
                on_raw(piece)
                yield piece
    except (FileNotFoundError, NotADirectoryError) as error:
        raise Rejected(Reason.TRACE_FILE_MISSING, path.name) from error
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise Rejected(Reason.TRACE_NOT_PERFETTO, f"{path.name}: not a regular file") from error
        raise Rejected(Reason.FOLDER_UNREADABLE, f"{path.name}: {error.strerror}") from error


def _plain(first: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from pieces


def _small(first: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in _plain(first, pieces):
        for at in range(0, len(piece), _GZIP_READ_BYTES):
            yield piece[at : at + _GZIP_READ_BYTES]


def _gunzip(name: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """All members of a gzip file; anything after the last one that is not a member is damage."""
    stream = zlib.decompressobj(_GZIP_WINDOW)
    data = next(pieces)
    try:
        while True:
            if chunk := stream.decompress(data, _UNPACK_BYTES):
                yield chunk
            data = stream.unconsumed_tail
            if stream.eof:
                data = stream.unused_data or next(pieces, b"")
                if not data:
                    return
                stream = zlib.decompressobj(_GZIP_WINDOW)
            elif not data and not chunk:
                data = next(pieces, b"")
                if not data:
                    raise Rejected(Reason.TRACE_GZIP_DAMAGED, f"{name}: the stream has no end")
    except zlib.error as error:
        raise Rejected(Reason.TRACE_GZIP_DAMAGED, f"{name}: {error}") from error
