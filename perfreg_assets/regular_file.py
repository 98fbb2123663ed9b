"""Reading files that somebody else put there: regular ones only, without waiting and without end."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path


def open_regular(path: Path) -> BufferedReader:
    """Opens a file for reading; a link is not followed, and a FIFO is not waited for.

    Raises:
        OSError: it cannot be opened, or is no regular file.
    """
    # O_NONBLOCK: opening a FIFO would wait for somebody to write into it
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return os.fdopen(descriptor, "rb")


def read_regular(path: Path, most: int) -> bytes:
    """All of a file, or its first `most + 1` bytes where it has more than `most`.

    Raises:
        OSError: see `open_regular`.
    """
    with open_regular(path) as file:
        return file.read(most + 1)


def resolved(path: Path) -> Path:
    """The place that a path leads to.

    Raises:
        OSError: its links lead in a circle. (Python 3.11 and 3.12 raise RuntimeError.)
    """
    try:
        return path.resolve()
    except RuntimeError as error:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from error
