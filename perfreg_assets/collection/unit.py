"""Which very device it is, whatever adb calls it: by cable and by network it has two names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perfreg_assets.collection.device import Device

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
