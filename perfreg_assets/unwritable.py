"""Folders that cannot be written to: refused by their name, instead of by that of a file that nobody knows."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perfreg_assets.reasons import Reason, Rejected

_CODES = frozenset({errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST})
"""The last two: a file stands where the folder, or one above it, should."""


@contextmanager
def refused_where_unwritable(folder: Path) -> Iterator[None]:
    """Within: something is written to a folder, or it is made.

    Raises:
        Rejected: FOLDER_UNWRITABLE.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _CODES:
            raise
        raise Rejected(Reason.FOLDER_UNWRITABLE, f"{folder} ({os.strerror(error.errno)})") from error
