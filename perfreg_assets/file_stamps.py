"""What the file system says of a file: a stamp that is equal as long as nobody wrote to it or put another one in its
place, and whether its bytes are another folder's as well."""

from __future__ import annotations

import os
from pathlib import Path

Stamp = tuple[int, int, int]
"""Inode, bytes and time of the last change, in ns."""


def stamp(file: Path | int) -> Stamp | None:
    """Of a file, or of an open one's descriptor; None where there is none."""
    try:
        found = os.stat(file)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def bytes_elsewhere(path: Path) -> int:
    """Bytes of a file that stay on the disk when it is deleted here, as another folder has the same file by a hard
    link: the one that was given, or the inbox' `.taken`. 0 where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0
    return found.st_size if found.st_nlink > 1 else 0
