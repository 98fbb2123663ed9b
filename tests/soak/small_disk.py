"""A file system of its own, of a stated size, that can be filled up and freed."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PAGE = 4096


class CannotMountError(Exception):
    """This user, or this machine, cannot mount anything."""


class SmallDisk:
    """What is mounted at `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / ".ballast"

    def fill(self, free_bytes: int) -> None:
        """Leaves so many bytes free, in whole pages; nothing where somebody else writes meanwhile."""
        self.free()
        size = shutil.disk_usage(self.folder).free - free_bytes
        descriptor = os.open(self._ballast, os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            if size >= _PAGE:
                os.posix_fallocate(descriptor, 0, size // _PAGE * _PAGE)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        finally:
            os.close(descriptor)

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Mounts one at `folder`, which is made.

    Raises:
        CannotMountError
    """
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        raise CannotMountError(mounted.stderr.strip())
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
