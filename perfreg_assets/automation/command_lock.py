"""That a command computes what is due: the sensor `upkeep` of the same home asks for nothing meanwhile.

Between two of its Dagster runs, and between what it writes and the first of them, nothing of Dagster's says that a
command is at work; and what both computed would be shown with the checks of the one and the results of the other.
The kernel ends the lock with its holder; commands share it, and none waits for another.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perfreg_assets.reasons import Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.unwritable import refused_where_unwritable
from perfreg_assets.warehouse.lock import file_lock


def _file(settings: Settings) -> Path:
    return settings.dagster_home / "commands.lock"


@contextmanager
def computing(settings: Settings) -> Iterator[None]:
    """Says so while the block runs; may be said within another one. Where there is no home nobody listens.

    Raises:
        Rejected: FOLDER_UNWRITABLE.
    """
    if not settings.dagster_home.is_dir():
        yield
        return
    with refused_where_unwritable(settings.dagster_home):
        handle = _file(settings).open("a")
    with handle:
        fcntl.flock(handle, fcntl.LOCK_SH)
        yield


def is_command_computing(settings: Settings) -> bool:
    """Whether one does, in this home."""
    try:
        with _file(settings).open() as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def is_served(settings: Settings) -> bool:
    """Whether `perfreg ui` runs in this home."""
    if not settings.ui_lock_file.exists():
        return False
    try:
        with file_lock(settings.ui_lock_file, timeout_s=0.0, what=str(settings.dagster_home)):
            return False
    except Rejected:
        return True
