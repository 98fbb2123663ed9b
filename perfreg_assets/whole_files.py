"""Files that are there with all that is in them, or as they were before: whoever reads one never meets half of it.

A file is written beside its place and renamed. What a killed process leaves has a dotted name that ends in its
`process_life.signature`; the inbox, the doctor and stores of objects know such names for nobody's.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from perfreg_assets.process_life import is_alive, signature, signer

QUIET_S = 600.0
"""What is signed with the number of no living process may be of another machine's: not while it still changes."""
_KEPT_OF_NAME = 40
"""Characters of the name that the part shows: a name may be as long as the file system allows."""


@contextmanager
def whole_file(path: Path, *, is_durable: bool, mode: int | None = None) -> Iterator[BinaryIO]:
    """Takes the place of `path` when the block ends; where it raises, nothing has happened.

    Args:
        is_durable: a loss of power right afterwards does not bring back what was there before. It costs two waits for
            the disk; caches, and what is written anew when it is missing, do without.
        mode: its permissions; None: what the process gives its files.

    Raises:
        OSError: it cannot be written; the folder has to be there.
    """
    part = part_beside(path)
    try:
        with part.open("xb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            yield file
            file.flush()
            if is_durable:
                os.fsync(file.fileno())
        _into_place(part, path)
    except BaseException:
        with suppress(OSError):  # it is not there, or the disk is gone: the reason is what is raised
            part.unlink()
        raise
    if is_durable:
        sync_directory(path.parent)


def write_whole(path: Path, content: bytes, *, is_durable: bool, mode: int | None = None) -> None:
    """`whole_file` of what is at hand.

    Raises:
        OSError: see there.
    """
    with whole_file(path, is_durable=is_durable, mode=mode) as file:
        file.write(content)


def part_beside(path: Path) -> Path:
    """A name that nobody else has for what is to become, or be left beside, this file."""
    return path.with_name(f"{beginning_of_parts(path.name)}.{secrets.token_hex(4)}{signature()}")


def beginning_of_parts(name: str) -> str:
    """What names by `part_beside` begin with, of files whose own names begin with `name`."""
    return f".{name[:_KEPT_OF_NAME]}"


def remove_dead_parts(folder: Path) -> None:
    """Deletes what killed processes left in a folder that nobody else looks after: those of this machine and container
    at once, others, whose numbers say nothing here, once they are quiet.

    Raises:
        OSError: one cannot be deleted, or the folder not be read.
    """
    for entry in os.scandir(folder):
        signed = signer(entry.name) if entry.name.startswith(".") else None
        if signed is None:
            continue
        is_here, pid = signed
        with suppress(FileNotFoundError):  # somebody else was quicker
            facts = entry.stat(follow_symlinks=False)
            # Containers give the same few numbers again: a process that is younger than the file did not sign it.
            is_over = not is_alive(pid, since=None if is_here else facts.st_mtime)
            is_due = is_here or time.time() - facts.st_mtime > QUIET_S
            if facts.st_uid == os.geteuid() and is_over and is_due:
                os.unlink(entry)


def sync_directory(path: Path) -> None:
    """Makes the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _into_place(part: Path, path: Path) -> None:
    os.replace(part, path)
