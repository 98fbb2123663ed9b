"""The very device, which adb may list under two names, by cable and by network: one collection at a time on it."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from perfreg_assets.collection.device import Device
from perfreg_assets.collection.journal import lock_file
from perfreg_assets.reasons import Reason, Rejected

_ASK = (
    "getprop ro.serialno; cat /proc/sys/kernel/random/boot_id 2>/dev/null || echo; "
    "getprop ro.kernel.qemu; getprop ro.boot.qemu"
)
_LINES = 4


@dataclass(frozen=True)
class Unit:
    """`start`: of its kernel. Cheap boards share their serial number, and no two devices a start."""

    serial_number: str
    start: str


def ask(device: Device) -> Unit | None:
    """Which one a device is; None where it does not say.

    Raises:
        Rejected: as `Device.run`.
    """
    return unit_of(device.script(_ASK).text.splitlines())


def unit_of(lines: Sequence[str]) -> Unit | None:
    """The unit by serial number, start, and the two properties of emulators: those that begin from one snapshot share
    number and start, and are none."""
    serial_number, start, *emulators = [line.strip() for line in lines] if len(lines) == _LINES else ("", "")
    return Unit(serial_number, start) if serial_number and start and "1" not in emulators else None


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
