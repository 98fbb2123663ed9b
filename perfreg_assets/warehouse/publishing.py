"""Putting the written file where readers find it, by a rename: whoever has the old one open keeps the old contents,
the next one to open gets the new, and nobody sees half a file.

Where the file system shares blocks between files a copy costs nothing. Elsewhere the published file before the current
one is kept as a spare, and of it only the pages that differ from the written file are written: as much as changed
since, whatever the size. A spare that anybody still has open is left alone, and the whole file is copied instead.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse.data_folder import sync_directory

_FICLONE = 0x40049409  # Linux ioctl: share the blocks (btrfs, xfs); instant whatever the size
_HEADROOM_BYTES = 4 << 20  # what a small write plus its log takes at most, measured 1 to 2 MB
_PAGE_BYTES = 4096  # DuckDB's headers are three of these, its blocks begin after them
_COMPARED_BYTES = 1 << 20
_SUFFIX_SPARE, _SUFFIX_FORMER = ".spare", ".former"


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
    """Makes `target` equal to `source`, atomically and durably; call it under the writers' lock.

    Raises:
        Rejected: WAREHOUSE_DISK_FULL; the old target stays as it was.
    """
    clear_leftovers(target)
    part = target.with_name(f"{target.name}.part-{os.getpid()}")
    spare = _beside(target, _SUFFIX_SPARE)
    try:
        if _clone(source, part):
            spare.unlink(missing_ok=True)
            _rename(part, target)
        else:
            if not _refresh(spare, part, source):
                spare.unlink(missing_ok=True)  # who has it open keeps it
                _copy(source, part)
            _exchange(part, target, spare)
        sync_directory(target.parent)
    except OSError as error:
        part.unlink(missing_ok=True)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Rejected(Reason.WAREHOUSE_DISK_FULL, f"publishing {target}") from error
        raise


def clear_leftovers(target: Path) -> None:
    """Removes what writers that were killed left half done; call it under the writers' lock."""
    for leftover in target.parent.glob(f"{_escape(target.name)}.part-*"):
        leftover.unlink(missing_ok=True)
    former, spare = _beside(target, _SUFFIX_FORMER), _beside(target, _SUFFIX_SPARE)
    if former.exists():
        if former.samefile(target) or spare.exists():
            former.unlink()
        else:
            _rename(former, spare)


# ---- ways to a file that is equal to the source ------------------------------------------------------
def _clone(source: Path, part: Path) -> bool:
    """Shares the source's blocks; False where the file system cannot."""
    with source.open("rb") as reading, part.open("wb") as writing:
        try:
            fcntl.ioctl(writing.fileno(), _FICLONE, reading.fileno())
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            return False
        os.fsync(writing.fileno())
        return True


def _refresh(spare: Path, part: Path, source: Path) -> bool:
    """Makes `part` of the spare by writing what differs; False, and nothing happened, where it cannot be had alone.

    From its renaming to that of the finished part the spare is nobody's: killed meanwhile, it is thrown away.
    """
    try:
        descriptor = os.open(spare, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        with _alone(descriptor) as is_alone:
            if not is_alone:
                return False
            _rename(spare, part)
            sync_directory(part.parent)  # or a loss of power could bring back the name of a file that was changed
            with source.open("rb") as reading:
                _write_differences(reading.fileno(), descriptor)
            os.fsync(descriptor)
            return True
    finally:
        os.close(descriptor)


def _copy(source: Path, part: Path) -> None:
    with source.open("rb") as reading, part.open("wb") as writing:
        _send(reading.fileno(), writing.fileno(), os.fstat(reading.fileno()).st_size)
        os.fsync(writing.fileno())


def _send(reading: int, writing: int, size: int) -> None:
    position = 0
    while position < size:
        sent = os.sendfile(writing, reading, position, size - position)
        if sent == 0:
            raise OSError(errno.EIO, "the warehouse file became shorter while it was copied")
        position += sent


def _write_differences(reading: int, writing: int) -> None:
    """Makes one open file equal to another."""
    size, there = os.fstat(reading).st_size, os.fstat(writing).st_size
    wanted, found = bytearray(_COMPARED_BYTES), bytearray(_COMPARED_BYTES)
    for start in range(0, size, _COMPARED_BYTES):
        length = min(_COMPARED_BYTES, size - start)
        _fill(reading, memoryview(wanted)[:length], start)
        known = max(0, min(length, there - start))
        _fill(writing, memoryview(found)[:known], start)
        # As wholes where they are full: a slice would be one more copy of each.
        if known == length and (wanted == found if length == _COMPARED_BYTES else wanted[:length] == found[:length]):
            continue
        for first, last in _differences(wanted, found, length, known):
            _write(writing, memoryview(wanted)[first:last], start + first)
    os.ftruncate(writing, size)


def _differences(wanted: bytearray, found: bytearray, length: int, known: int) -> Iterator[tuple[int, int]]:
    """Spans of whole pages in which two buffers differ, or which the second does not have beyond `known` bytes."""
    pages = -(-length // _PAGE_BYTES)
    left, right = (np.frombuffer(one, np.uint8)[: pages * _PAGE_BYTES].reshape(pages, -1) for one in (wanted, found))
    differs = np.concatenate([[False], (left != right).any(axis=1), [False]])
    differs[1 + known // _PAGE_BYTES : -1] = True
    edges = np.flatnonzero(differs[1:] != differs[:-1])
    for first, last in edges.reshape(-1, 2).tolist():
        yield first * _PAGE_BYTES, min(last * _PAGE_BYTES, length)


def _fill(descriptor: int, buffer: memoryview, start: int) -> None:
    done = 0
    while done < len(buffer):
        got = os.preadv(descriptor, [buffer[done:]], start + done)
        if got == 0:
            raise OSError(errno.EIO, "the warehouse file became shorter while it was published")
        done += got


def _write(descriptor: int, buffer: memoryview, start: int) -> None:
    done = 0
    while done < len(buffer):
        done += os.pwrite(descriptor, buffer[done:], start + done)


@contextmanager
def _alone(descriptor: int) -> Iterator[bool]:
    """Whether nobody else has the file open; while the block runs nobody gets to read it.

    A write lease is given only for a file that no other descriptor of any process on this machine refers to, ours
    included: DuckDB's own locks would not do, because a process loses those when it closes any descriptor of the file.
    Locks are asked for besides: those of clients of another machine arrive here without a descriptor.
    """
    try:
        # Who opens the file meanwhile is kept waiting and we are told: by default with a signal that would end us.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    except (OSError, AttributeError):  # in use; or the system or the file system has none of this
        _end_lease(descriptor)
        yield False
        return
    try:
        yield True
    finally:
        _end_lease(descriptor)


def _end_lease(descriptor: int) -> None:
    with suppress(OSError, AttributeError):
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)


# ---- names -------------------------------------------------------------------------------------------
def _exchange(part: Path, target: Path, spare: Path) -> None:
    """Makes the part the target, and the target of before the spare."""
    former = _beside(target, _SUFFIX_FORMER)
    try:
        os.link(target, former)
    except OSError:  # no target yet, or a file system without links: no spare then
        _rename(part, target)
        return
    _rename(part, target)
    _rename(former, spare)


def _rename(old: Path, new: Path) -> None:
    os.replace(old, new)


def _beside(target: Path, suffix: str) -> Path:
    return target.with_name(f"{target.name}{suffix}")


def _escape(name: str) -> str:
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)
