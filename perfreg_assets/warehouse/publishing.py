"""Putting a finished file where readers find it: copy beside the target, fsync, rename over it.

A rename replaces the name atomically: a reader that has the old file open keeps the old contents, the next
one to open gets the new, and nobody sees half a file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from pathlib import Path

from perfreg_assets.reasons import Reason, Rejected

_FICLONE = 0x40049409  # Linux ioctl: share the blocks (btrfs, xfs); instant whatever the size
_HEADROOM_BYTES = 4 << 20  # what a small write plus its log takes at most, measured 1 to 2 MB


def require_free_space(path: Path, *, expected_bytes: int = 0) -> None:
    """Checks that the disk holding `path` can take a copy of it, grown by `expected_bytes`.

    Raises:
        Rejected: WAREHOUSE_DISK_FULL with both figures.
    """
    size = path.stat().st_size if path.exists() else 0
    needed = size + 2 * expected_bytes + _HEADROOM_BYTES
    free = shutil.disk_usage(path.parent).free
    if free < needed:
        detail = f"writing {path} needs {needed / 1e6:.0f} MB, {free / 1e6:.0f} MB are free"
        raise Rejected(Reason.WAREHOUSE_DISK_FULL, detail)


def publish(source: Path, target: Path) -> None:
    """Copies `source` to `target` atomically and durably.

    Raises:
        Rejected: WAREHOUSE_DISK_FULL; the old target stays as it was.
    """
    clear_leftovers(target)
    part = target.with_name(f"{target.name}.part-{os.getpid()}")
    try:
        _copy(source, part)
        os.replace(part, target)
        _sync_directory(target.parent)
    except OSError as error:
        part.unlink(missing_ok=True)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Rejected(Reason.WAREHOUSE_DISK_FULL, f"publishing {target}") from error
        raise


def clear_leftovers(target: Path) -> None:
    """Removes the half copies of writers that were killed; call under the writers' lock."""
    for leftover in target.parent.glob(f"{_escape(target.name)}.part-*"):
        leftover.unlink(missing_ok=True)


def _copy(source: Path, part: Path) -> None:
    with source.open("rb") as reading, part.open("wb") as writing:
        try:
            fcntl.ioctl(writing.fileno(), _FICLONE, reading.fileno())
        except OSError:  # the file system cannot share blocks: copy them
            _send(reading.fileno(), writing.fileno(), os.fstat(reading.fileno()).st_size)
        os.fsync(writing.fileno())


def _send(reading: int, writing: int, size: int) -> None:
    position = 0
    while position < size:
        sent = os.sendfile(writing, reading, position, size - position)
        if sent == 0:
            raise OSError(errno.EIO, "the warehouse file became shorter while it was copied")
        position += sent


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _escape(name: str) -> str:
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)
