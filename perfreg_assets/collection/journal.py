"""The host-side list of what a collection owes its device, written before the debt is made.

A collection that is killed leaves its journal; the next one on that device, or `perfreg collect --sweep`, pays
what is still open. Normal ends and failures go the same way, so there is one code path that cleans. One JSON object
per line; every line is on the disk before the device is touched.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from perfreg_assets.collection.device import Device
from perfreg_assets.collection.salvage import salvage
from perfreg_assets.collection.unit import Unit
from perfreg_assets.process_life import started_ticks
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.whole_files import write_whole

_SUFFIX = ".jsonl"


@dataclass(frozen=True)
class Debt:
    """One thing to undo. `kind` says how, `arguments` on what."""

    number: int
    kind: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return _DESCRIPTIONS[self.kind].format(*self.arguments)


_DESCRIPTIONS = {
    "processes": "processes started on the device",
    "process": "process {0} ({1}) on the device",
    "file": "{0}",
    "recording": "{0}, of which {1} lacks what was not judged yet",
    "setting": "setting {0}/{1}, to be {2} again",
    "airplane": "airplane mode, to be {0} again",
    "app": "app {0}, installed for the collection",
    "running_app": "app {0}, still running",
    "host_process": "process group {0} on this computer",
    "host_path": "{0} on this computer",
}
_RUNNING = frozenset({"processes", "process", "host_process", "running_app"})
_HOST_KINDS = frozenset({"host_process", "host_path"})


class Journal:
    """The open debts of one collection. Create with `open_journal` or read with `unfinished_journals`.

    `serial`: what adb called its device. `unit`: which one that is; None where it did not say.
    """

    def __init__(self, path: Path, collection_id: str, serial: str, unit: Unit | None = None) -> None:
        self.path = path
        self.collection_id = collection_id
        self.serial = serial
        self.unit = unit
        self._open: dict[int, Debt] = {}
        self._next = 0

    @property
    def debts(self) -> list[Debt]:
        """Open debts in the order to pay them: what still runs first, as it may write, and the app behind the
        explorers, which start it again; then the newest first."""
        return sorted(
            self._open.values(), key=lambda debt: (debt.kind not in _RUNNING, debt.kind == "running_app", -debt.number)
        )

    def owe(self, kind: str, *arguments: str) -> Debt:
        """Notes a debt; it is on the disk when this returns."""
        assert kind in _DESCRIPTIONS, kind
        debt = Debt(self._next, kind, arguments)
        self._next += 1
        self._write({"owe": asdict(debt)})
        self._open[debt.number] = debt
        return debt

    def paid(self, debt: Debt) -> None:
        """Notes that a debt is paid."""
        del self._open[debt.number]
        self._write({"paid": debt.number})

    def instead(self, debt: Debt, kind: str, *arguments: str) -> Debt:
        """Notes another debt in the place of one; at no moment neither is on the disk."""
        new = self.owe(kind, *arguments)
        self.paid(debt)
        return new

    def settle(self, device: Device | None) -> list[Debt]:
        """Pays what can be paid; returns what stays open. Without a device only the host's part is paid.

        A refusal of one debt does not keep the others from being paid; an unreachable device ends the attempt.
        """
        for debt in self.debts:
            if debt.kind not in _HOST_KINDS and device is None:
                continue
            try:
                is_paid = pay(debt, device)
            except Rejected as refusal:
                if refusal.reason in _UNREACHABLE:
                    device = None
                continue
            if is_paid:
                with suppress(OSError):  # a full disk: it is paid all the same, at worst a sweep pays it again
                    self.paid(debt)
        return self.debts

    def close(self) -> None:
        """Removes the journal of a collection that owes nothing."""
        assert not self._open
        self.path.unlink(missing_ok=True)

    def _write(self, line: dict[str, Any]) -> None:
        with self.path.open("ab") as out:
            out.write(_encoded(line))
            out.flush()
            os.fsync(out.fileno())


def _encoded(line: dict[str, Any]) -> bytes:
    """Begins with the line feed: a torn last line of a killed writer does not swallow this one."""
    return b"\n" + json.dumps(line).encode()


_UNREACHABLE = frozenset(
    {
        Reason.DEVICE_LOST,
        Reason.DEVICE_OFFLINE,
        Reason.DEVICE_UNAUTHORIZED,
        Reason.DEVICE_TIMEOUT,
        Reason.ADB_UNAVAILABLE,
    }
)


# ---- paying --------------------------------------------------------------------------------------
def pay(debt: Debt, device: Device | None) -> bool:
    """Undoes one thing; True when it is undone, also when there was nothing left to undo.

    Raises:
        Rejected: the device cannot be reached.
    """
    if debt.kind in _HOST_KINDS:
        return _PAY_HOST[debt.kind](*debt.arguments)
    assert device is not None
    return _PAY_DEVICE[debt.kind](device, *debt.arguments)


def _succeeds(device: Device, *argv: str) -> bool:
    return device.run(argv).returncode == 0


def _restore_setting(device: Device, namespace: str, name: str, value: str) -> bool:
    if value == "null":  # how `settings get` spells a setting that is not there
        return _succeeds(device, "settings", "delete", namespace, name)
    return _succeeds(device, "settings", "put", namespace, name, value)


def _uninstall(device: Device, package: str) -> bool:
    device.run(["pm", "uninstall", package], timeout_s=120)
    return not _succeeds(device, "pm", "path", package)


def _end_marked(device: Device, token: str) -> bool:
    device = device.marked_as(token)
    for signal_name in ("TERM", "TERM", "KILL", "KILL"):
        pids = device.marked_processes()
        if not pids:
            return True
        for pid in pids:
            device.signal_group(pid, signal_name)
        device.run(["sleep", "0.3"])
    return not device.marked_processes()


def _end_known(device: Device, pid: str, command_part: str) -> bool:
    """Ends a process by pid, but only while its command line still holds `command_part`: pids are used again."""
    for signal_name in ("TERM", "TERM", "TERM", "KILL", "KILL"):
        found = device.script(_HAS_COMMAND, pid, command_part).returncode == 0
        if not found:
            return True
        device.signal_group(int(pid), signal_name)
        device.run(["sleep", "0.3"])
    return False


_HAS_COMMAND = 'grep -q -s -z -F -e "$2" "/proc/$1/cmdline"'


def _end_host_process(pid: str, start_ticks: str) -> bool:
    if started_ticks(int(pid)) != int(start_ticks):
        return True
    try:
        os.killpg(int(pid), signal.SIGKILL)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True


def _remove_host_path(path: str) -> bool:
    shutil.rmtree(path, ignore_errors=True)
    return not Path(path).exists()


_PAY_HOST: dict[str, Callable[..., bool]] = {"host_process": _end_host_process, "host_path": _remove_host_path}
_PAY_DEVICE: dict[str, Callable[..., bool]] = {
    "processes": _end_marked,
    "process": _end_known,
    "file": lambda device, path: device.remove(path),
    "recording": lambda device, path, folder: salvage(device, path, Path(folder)) and device.remove(path),
    "setting": _restore_setting,
    "airplane": lambda device, state: _succeeds(device, "cmd", "connectivity", "airplane-mode", state),
    "app": _uninstall,
    "running_app": lambda device, package: _succeeds(device, "am", "force-stop", package),
}


# ---- journals of a home --------------------------------------------------------------------------
def open_journal(directory: Path, collection_id: str, serial: str, unit: Unit | None = None) -> Journal:
    """A new journal, on the disk."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{collection_id}{_SUFFIX}"
    # With its first line or not at all: one without is nobody's, and is deleted.
    head = {"collection_id": collection_id, "serial": serial, "unit": unit and asdict(unit)}
    write_whole(path, _encoded(head), is_durable=True)
    return Journal(path, collection_id, serial, unit)


def read_journal(path: Path) -> Journal | None:
    """A journal from the disk; None where not even its first line was written."""
    lines = []
    for line in path.read_bytes().splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            continue  # empty, or the writer was killed inside it and had not acted on it yet
    if not lines or "serial" not in lines[0]:
        return None
    head = lines[0]
    unit = head.get("unit")  # of sessions of earlier releases nobody knows it
    journal = Journal(path, head["collection_id"], head["serial"], unit and Unit(**unit))
    for line in lines[1:]:
        if "owe" in line:
            owed = line["owe"]
            journal._open[owed["number"]] = Debt(owed["number"], owed["kind"], tuple(owed["arguments"]))
            journal._next = owed["number"] + 1
        else:
            journal._open.pop(line["paid"], None)
    return journal


def unfinished_journals(directory: Path, serial: str | None = None, unit: Unit | None = None) -> list[Journal]:
    """Journals with open debts, of one device or of all. Settle them only while holding the device's locks:
    whoever holds them knows that no collection on that device is running.

    Args:
        unit: which one it is, where it says so: its journals under another name of adb's are its too.
    """
    found = []
    for path in sorted(directory.glob(f"*{_SUFFIX}")) if directory.is_dir() else []:
        try:
            journal = read_journal(path)
        except FileNotFoundError:  # its collection ended meanwhile and owes nothing
            continue
        if journal is None:
            path.unlink(missing_ok=True)
        elif serial is None or journal.serial == serial or (unit is not None and journal.unit == unit):
            found.append(journal)
    return found


@contextmanager
def device_lock(directory: Path, serial: str) -> Iterator[None]:
    """One collection per device at a time, also between processes; the kernel frees it when its holder dies.

    Raises:
        Rejected: DEVICE_BUSY.
    """
    with lock_file(directory, serial).open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Rejected(Reason.DEVICE_BUSY, f"{serial} is in use by another collection") from error
        yield


def lock_file(directory: Path, name: str) -> Path:
    """Where the lock of something lies, whatever characters its name has; the folder is there then."""
    directory.mkdir(parents=True, exist_ok=True)
    return directory / f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)}.lock"


def is_in_use(directory: Path, serial: str) -> bool:
    """Whether a collection on that device is under way: its journal is nothing that was left."""
    try:
        with device_lock(directory, serial):
            return False
    except Rejected:
        return True
