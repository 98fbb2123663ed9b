"""What the file system says of a file: equal as long as nobody wrote to it or put another one in its place."""

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
