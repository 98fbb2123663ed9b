"""Folders of this process in the temporary folder, which go when it ends, by itself or by an interrupt. What a killed
process leaves goes with `perfreg doctor --fix`, which knows them by their beginnings (`model/places_health.py`)."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_MADE: dict[Path, int] = {}
"""Folder → the process that made it: one that is forked from it leaves it there."""


def make_folder(beginning: str) -> Path:
    """A new one, which nobody else may look into.

    Args:
        beginning: of its name.
    """
    folder = Path(tempfile.mkdtemp(prefix=beginning))
    _MADE[folder] = os.getpid()
    return folder


def remove_folder(folder: Path) -> None:
    """Before the process ends; what is in use stays."""
    _MADE.pop(folder, None)
    shutil.rmtree(folder, ignore_errors=True)


@atexit.register
def remove_all() -> None:
    """For who ends the process without exit handlers."""
    for folder in [one for one, pid in list(_MADE.items()) if pid == os.getpid()]:
        remove_folder(folder)
