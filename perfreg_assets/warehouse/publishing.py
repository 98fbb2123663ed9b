"""Putting the written file where readers find it, by a rename: whoever has the old one open keeps the old contents,
the next one to open gets the new, and nobody sees half a file.

Where the file system shares blocks between files a copy costs nothing. Elsewhere the published file before the current
one is kept as a spare, and of it only the pages that differ from the written file are written: as much as changed
since, whatever the size. Where it is known what was written since (`written_pages`) only that is compared, and besides
it a part of the rest, another one each time: should anything differ there, everything is compared. A spare that
anybody still has open is left alone, and the whole file is copied instead.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import shutil
import signal
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from perfreg_assets.file_stamps import Stamp, stamp
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.spans import Span
from perfreg_assets.warehouse import written_pages
from perfreg_assets.warehouse.written_pages import PAGE_BYTES, Record
from perfreg_assets.whole_files import sync_directory

_LOG = logging.getLogger(__name__)
_FICLONE = 0x40049409  # Linux ioctl: share the blocks (btrfs, xfs); instant whatever the size
_HEADROOM_BYTES = 4 << 20  # what a small write plus its log takes at most, measured 1 to 2 MB
_COMPARED_BYTES = 1 << 20
_PROBED_BYTES = 16 << 20  # compared in 5 ms, whoever wrote there; a small warehouse as a whole, then
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
    known = written_pages.known(source)
    part = target.with_name(f"{target.name}.part-{os.getpid()}")
    spare = _beside(target, _SUFFIX_SPARE)
    try:
        if _clone(source, part):
            spare.unlink(missing_ok=True)
            _rename(part, target)
            written_pages.forget(source)  # nothing is compared
        else:
            if not _refresh(spare, part, source, known):
                spare.unlink(missing_ok=True)  # who has it open keeps it
                _copy(source, part)
            _exchange(part, target, spare)
            _note(source, target, spare, known)
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
    # Of somebody who opened the copy to write: beside another one every reader would stumble over it.
    target.with_name(f"{target.name}.wal").unlink(missing_ok=True)
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


def _refresh(spare: Path, part: Path, source: Path, known: Record | None) -> bool:
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
            seen = stamp(descriptor)
            written = known.since.get(seen) if known and seen else None
            _rename(spare, part)
            sync_directory(part.parent)  # or a loss of power could bring back the name of a file that was changed
            with source.open("rb") as reading:
                if known is None or written is None:
                    _write_differences(reading.fileno(), descriptor)
                else:
                    _write_what_is_known(reading.fileno(), descriptor, written, known.compared_to)
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


def _write_what_is_known(reading: int, writing: int, written: Sequence[Span], compared_to: int) -> None:
    """Makes one open file equal to another that was written to at these places alone, and sees whether that is so."""
    size, there = os.fstat(reading).st_size, os.fstat(writing).st_size
    grown = [(there // PAGE_BYTES * PAGE_BYTES, size)] if size > there else []
    _write_differences(reading, writing, [*written, *grown])
    if _write_differences(reading, writing, [_probe(size, compared_to)]):
        _LOG.warning("%d bytes of the warehouse were compared as a whole: more was written than is known", size)
        _write_differences(reading, writing)


def _probe(size: int, compared_to: int) -> Span:
    """What to compare of a file whatever is known of it: what comes after the part compared last, in the end all."""
    start = compared_to if compared_to < size else 0
    return start, min(size, start + _PROBED_BYTES)


def _note(source: Path, target: Path, spare: Path, known: Record | None) -> None:
    """Keeps what is known of the files as they are now: the target is equal to the source, the spare was before."""
    size = source.stat().st_size
    published, former = stamp(target), stamp(spare)
    since: dict[Stamp, tuple[Span, ...]] = {}
    if known is not None and former is not None and former in known.since:
        since[former] = known.since[former]
    if published is not None:
        since[published] = ()
    written_pages.note(source, Record(since, _probe(size, known.compared_to)[1] if known else 0))


def _write_differences(reading: int, writing: int, spans: Sequence[Span] | None = None) -> int:
    """Makes one open file equal to another where they differ; how many bytes that were.

    Args:
        spans: what is compared; default: everything.
    """
    size, there = os.fstat(reading).st_size, os.fstat(writing).st_size
    wanted, found = bytearray(_COMPARED_BYTES), bytearray(_COMPARED_BYTES)
    written = 0
    for start, length in _parts([(0, size)] if spans is None else spans, size):
        _fill(reading, memoryview(wanted)[:length], start)
        known = max(0, min(length, there - start))
        _fill(writing, memoryview(found)[:known], start)
        # As wholes where they are full: a slice would be one more copy of each.
        if known == length and (wanted == found if length == _COMPARED_BYTES else wanted[:length] == found[:length]):
            continue
        for first, last in _differences(wanted, found, length, known):
            _write(writing, memoryview(wanted)[first:last], start + first)
            written += last - first
    os.ftruncate(writing, size)
    return written


def _parts(spans: Sequence[Span], size: int) -> Iterator[tuple[int, int]]:
    """(first byte, number of bytes) of the spans, as far as the file goes and no longer than is compared at once."""
    for first, last in spans:
        end = min(last, size)
        for start in range(first, end, _COMPARED_BYTES):
            yield start, min(_COMPARED_BYTES, end - start)


def _differences(wanted: bytearray, found: bytearray, length: int, known: int) -> Iterator[tuple[int, int]]:
    """Spans of whole pages in which two buffers differ, or which the second does not have beyond `known` bytes."""
    pages = -(-length // PAGE_BYTES)
    left, right = (np.frombuffer(one, np.uint8)[: pages * PAGE_BYTES].reshape(pages, -1) for one in (wanted, found))
    differs = np.concatenate([[False], (left != right).any(axis=1), [False]])
    differs[1 + known // PAGE_BYTES : -1] = True
    edges = np.flatnonzero(differs[1:] != differs[:-1])
    for first, last in edges.reshape(-1, 2).tolist():
        yield first * PAGE_BYTES, min(last * PAGE_BYTES, length)


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
