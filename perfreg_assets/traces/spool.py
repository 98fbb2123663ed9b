"""What of a growing recording is still needed: a file that is a whole trace at every moment, whoever is killed when.

Its name says how far the recording was read when the file was made, and how large it was then. What is appended is the
recording's own bytes, so how far it is read is always what the file says: <offset> + its size now - <size>.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.packets import scanner

_NAME = re.compile(r"rest\.(\d+)\.(\d+)\.perfetto-trace")

_T = TypeVar("_T")
Write = Callable[[bytes], object]


class Spool:
    """Append with `append`, shorten with `replace`; `offset` says where in the recording the next bytes are."""

    def __init__(self, path: Path) -> None:
        """
        Args:
            path: of the file, from `new_spool` or `find_spool`.
        """
        match = _NAME.fullmatch(path.name)
        assert match is not None, path
        self.path = path
        self._base = int(match[1]) - int(match[2])
        self._size = path.stat().st_size
        self._rest = b""  # a packet that is not whole yet

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self._size

    @property
    def offset(self) -> int:
        """Bytes of the recording that were given to `append`."""
        return self._base + self._size + len(self._rest)

    def append(self, data: bytes) -> None:
        """The recording's next bytes; a packet is written when all of it is there.

        Raises:
            Rejected: TRACE_CORRUPT, no packet begins where one should.
            OSError: the disk is full; what is in the file stays.
        """
        joined = self._rest + data
        rows, used, is_broken = scanner.scan_packets(np.frombuffer(joined, np.uint8))
        if len(rows):
            with self.path.open("ab") as file:
                try:
                    file.write(joined[:used])
                    file.flush()
                except OSError:
                    os.ftruncate(file.fileno(), self._size)
                    raise
            self._size += used
        self._rest = joined[used:]
        if is_broken:
            raise Rejected(Reason.TRACE_CORRUPT, f"no packet begins at byte {self._base + self._size} of the recording")

    def replace(self, write: Callable[[Write], _T]) -> _T:
        """Puts other content in place of the file's, which stands for the same part of the recording.

        Args:
            write: is given what takes the new content.
        """
        offset = self._base + self._size
        part = self.path.with_name(f".{self.path.name}.part")
        try:
            with part.open("wb") as file:
                found = write(file.write)
                file.flush()
                os.fsync(file.fileno())
                size = file.tell()
            target = self.path.with_name(f"rest.{offset}.{size}.perfetto-trace")
            part.rename(target)
        finally:
            part.unlink(missing_ok=True)
        if target != self.path:
            self.path.unlink()
        self.path, self._size, self._base = target, size, offset - size
        return found

    def remove(self) -> None:
        """Nothing of it is needed any more."""
        self.path.unlink(missing_ok=True)


def new_spool(folder: Path) -> Spool:
    """An empty one in a folder."""
    path = folder / "rest.0.0.perfetto-trace"
    path.touch()
    return Spool(path)


def find_spool(folder: Path) -> Spool | None:
    """The one in a folder whose writer was killed, if there is one: the newest where it was being replaced."""
    found = [(int(match[1]), path) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))]
    if not found:
        return None
    return _cut_to_packets(max(found)[1])


def _cut_to_packets(path: Path) -> Spool:
    """Takes away a last packet of which only the beginning was written."""
    consumed, rest = 0, b""
    with path.open("rb") as file:
        while chunk := file.read(4 << 20):
            joined = rest + chunk
            _, used, is_broken = scanner.scan_packets(np.frombuffer(joined, np.uint8))
            consumed, rest = consumed + used, joined[used:]
            if is_broken:
                break
    os.truncate(path, consumed)
    return Spool(path)
