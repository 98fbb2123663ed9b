"""The very device, which adb may list under two names, by cable and by network: one collection at a time on it."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perfreg_assets.collection.journal import lock_file
from perfreg_assets.collection.unit import Unit
from perfreg_assets.reasons import Reason, Rejected


@contextmanager
def unit_lock(directory: Path, serial: str, unit: Unit | None) -> Iterator[None]:
    """As `journal.device_lock`, whatever adb calls the device. None keeps nobody from anything.

    Args:
        serial: adb's name of it.

    Raises:
        Rejected: DEVICE_BUSY.
    """
    if unit is None:
        yield
        return
    with lock_file(directory, f"unit-{unit.serial_number}").open("a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            handle.seek(0)
            if handle.read() == unit.start:
                told = f"{serial} is in use by another collection, under another name"
                raise Rejected(Reason.DEVICE_BUSY, told) from error
        else:
            handle.truncate(0)
            handle.write(unit.start)
            handle.flush()
        yield
