"""Files that somebody named for a command to write: there with all that is in them, or as they were before."""

from __future__ import annotations

import errno
from pathlib import Path

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.regular_file import resolved
from perfreg_assets.unwritable import refused_where_unwritable
from perfreg_assets.whole_files import write_whole


def write_named(path: Path, content: str | bytes) -> None:
    """Writes a file, and makes its folder. A link leads to what is written; what is there and no regular file, like a
    pipe or /dev/stdout, is written to as it is.

    Args:
        content: a text becomes UTF-8; of what that cannot express its number is written.

    Raises:
        Rejected: WAREHOUSE_DISK_FULL, FOLDER_UNWRITABLE.
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    try:
        with refused_where_unwritable(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() and not path.is_file():  # before it is resolved: /dev/stdout leads to no path
                path.write_bytes(data)
            else:
                write_whole(resolved(path), data, is_durable=False)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise Rejected(Reason.WAREHOUSE_DISK_FULL, f"no room in {path.parent}") from error
