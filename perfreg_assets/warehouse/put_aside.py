"""Databases that another one took the place of, kept beside it as `<name>.<why>-<time in UTC>`.

Call all of it under the writers' lock.
"""

from __future__ import annotations

import errno
import os
from datetime import UTC, datetime
from glob import escape
from pathlib import Path

from perfreg_assets.whole_files import sync_directory

DAMAGED, REPLACED = "damaged", "replaced"
"""Why: it could not be read; somebody restored another one."""
_WITHOUT_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def put_aside(path: Path, why: str) -> Path:
    """Gives a database that nobody has open another name, and its log with it; where.

    It has its own name too until another file takes that, or killed in between there would be none.
    """
    at = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    names = (path.with_name(f"{path.name}.{why}-{at}{more}") for more in ["", *(f"-{n}" for n in range(2, 1000))])
    aside = next(name for name in names if not name.exists())
    # The log after its database: until that has the other name, what is only in the log stays where it is opened.
    try:
        os.link(path, aside)
    except OSError as error:
        if error.errno not in _WITHOUT_LINKS:
            raise
        os.replace(path, aside)
    log = path.with_name(f"{path.name}.wal")
    if log.exists():
        os.replace(log, aside.with_name(f"{aside.name}.wal"))
    sync_directory(aside.parent)
    return aside


def replaced(path: Path) -> list[Path]:
    """The databases that restoring put aside; `<name>.replaced` is an earlier release's."""
    found = path.parent.glob(f"{escape(path.name)}.{REPLACED}*")
    return sorted(one for one in found if one.suffix != ".wal" and one.is_file())
