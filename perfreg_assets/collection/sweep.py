"""Cleaning devices of what killed or cut off collections left there.

Done before each collection for its device, and by `perfreg collect --sweep` for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from perfreg_assets.collection.adb_server import AdbServer
from perfreg_assets.collection.device import SCRATCH_DIR, Device
from perfreg_assets.collection.journal import device_lock, unfinished_journals
from perfreg_assets.collection.perfetto_session import TRACE_DIR
from perfreg_assets.collection.unit import Unit, ask
from perfreg_assets.collection.unit_lock import unit_lock
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings

_FIND = 'find "$1" "$2" -maxdepth 1 -name "perfreg-*" 2>/dev/null; true'


@dataclass(frozen=True)
class SweepResult:
    """What was cleaned and what is still there, in words; `unlisted` are files of perfreg that no journal names."""

    cleaned: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()

    def __add__(self, other: SweepResult) -> SweepResult:
        return SweepResult(
            self.cleaned + other.cleaned, self.remaining + other.remaining, self.unlisted + other.unlisted
        )


def journal_dir(settings: Settings) -> Path:
    return settings.home_dir / "collections"


def sweep_device(device: Device, settings: Settings, unit: Unit | None) -> SweepResult:
    """Settles the journals of one device, under whatever name of adb's they were begun. Only while holding its locks.

    Args:
        unit: which one it is; None: it does not say.

    Raises:
        Rejected: never for a debt that cannot be paid; that one is in `remaining`.
    """
    cleaned: list[str] = []
    remaining: list[str] = []
    for journal in unfinished_journals(journal_dir(settings), device.serial, unit):
        before = {str(debt) for debt in journal.debts}
        left = [str(debt) for debt in journal.settle(device)]
        remaining += [f"{debt} on {device.serial}" for debt in left]
        cleaned += [f"{debt} on {device.serial}" for debt in sorted(before - set(left))]
        if not left:
            journal.close()
    return SweepResult(tuple(cleaned), tuple(remaining))


def sweep(settings: Settings, *, serial: str | None = None, connect_timeout_s: float = 10.0) -> SweepResult:
    """Cleans every device that has something listed (or the named one) and looks there for files no journal names.

    Devices that are not attached, or in use by a running collection, keep their lists.

    Raises:
        Rejected: ADB_UNAVAILABLE; of a named device of which nothing is listed, why it could not be looked at.
    """
    server = AdbServer()
    directory = journal_dir(settings)
    result = SweepResult()
    for name in [serial] if serial is not None else _names(server, directory):
        device = Device(server, name, token="sweep")
        try:
            with device_lock(directory, name):
                device.wait_ready(connect_timeout_s)
                unit = ask(device)
                with unit_lock(directory, name, unit):
                    if serial is None and not unfinished_journals(directory, name, unit):
                        continue  # another device
                    result += sweep_device(device, settings, unit)
                    journals = unfinished_journals(directory, name, unit)
                    listed = {item for journal in journals for debt in journal.debts for item in debt.arguments}
                    result += SweepResult(unlisted=tuple(_unlisted(device, listed)))
        except Rejected as refusal:
            if refusal.reason is Reason.ADB_UNAVAILABLE:
                raise
            debts = [debt for journal in unfinished_journals(directory, name) for debt in journal.debts]
            if serial is not None and not debts:
                raise
            result += SweepResult(remaining=tuple(f"{debt} on {name} ({refusal})" for debt in debts))
    return result


def _names(server: AdbServer, directory: Path) -> Iterator[str]:
    """adb's names of the devices that have something listed. First those that are attached, and where one is not, all
    others that are: it may be one of them, under another name.

    Raises:
        Rejected: ADB_UNAVAILABLE.
    """
    listed = {journal.serial for journal in unfinished_journals(directory)}
    if not listed:
        return
    attached = {one.serial for one in server.devices() if one.state == "device"}
    yield from sorted(listed & attached)
    if any(journal.unit is not None and journal.serial not in attached for journal in unfinished_journals(directory)):
        yield from sorted(attached - listed)
    yield from sorted({journal.serial for journal in unfinished_journals(directory)} - attached)


def remaining(settings: Settings) -> tuple[str, ...]:
    """What is listed for a sweep, without touching any device."""
    return tuple(
        f"{debt} on {journal.serial}"
        for journal in unfinished_journals(journal_dir(settings))
        for debt in journal.debts
    )


def _unlisted(device: Device, listed: set[str]) -> list[str]:
    """Files with our prefix that no journal of ours names: another computer's, or of a lost home folder."""
    found = device.script(_FIND, TRACE_DIR, SCRATCH_DIR).text.splitlines()
    return [f"{path} on {device.serial}" for path in found if path and path not in listed]
