"""A device lent to benchmarks: locked, swept before, and given back with nothing left on it.

The same journal as a collection's: what is put or started there is a debt before it is made, and a session that is
killed is cleaned by the next one or by `perfreg collect --sweep`.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from perfreg_assets.collection.adb_server import PASSING_REASONS, AdbServer
from perfreg_assets.collection.device import SCRATCH_DIR, Device, DeviceFacts, ShellResult
from perfreg_assets.collection.journal import Journal, device_lock, open_journal
from perfreg_assets.collection.sweep import journal_dir, sweep_device
from perfreg_assets.collection.unit import ask
from perfreg_assets.collection.unit_lock import unit_lock
from perfreg_assets.methods.adequacy import Caveat
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings

T = TypeVar("T")

OUTPUT_BYTES_MAX = 256 << 20
_MEDIA_DIR = "/sdcard/Android/media"
_TRANSFER_S = 300.0
_EMULATORS = re.compile(r"sdk_gphone|emulator|goldfish|ranchu|vbox86|emu64", re.IGNORECASE)
_INSIDE = 'cd "$1" && shift && exec "$@"'
_CLOCKS = (
    'for f in /sys/devices/system/cpu/cpu[0-9]*/cpufreq; do [ -r "$f/scaling_min_freq" ] && '
    'echo "$(cat "$f/scaling_min_freq") $(cat "$f/scaling_max_freq")"; done; true'
)


@contextmanager
def lend(
    settings: Settings, serial: str, *, connect_timeout_s: float = 30.0, reconnect_timeout_s: float = 60.0
) -> Iterator[BenchmarkSession]:
    """A device for as long as the block lasts.

    Args:
        reconnect_timeout_s: so long a device that went away is waited for.

    Raises:
        Rejected: NO_DEVICE, DEVICE_NOT_FOUND, DEVICE_BUSY, DEVICE_OFFLINE, DEVICE_UNAUTHORIZED, ADB_UNAVAILABLE, ….
    """
    server = AdbServer()
    serial = server.choose(serial).serial
    token = uuid.uuid4().hex[:16]
    with ExitStack() as stack:
        stack.enter_context(device_lock(journal_dir(settings), serial))
        device = Device(server, serial, token=token)
        device.wait_ready(connect_timeout_s)
        unit = ask(device)
        stack.enter_context(unit_lock(journal_dir(settings), serial, unit))
        sweep_device(device, settings, unit)
        journal = open_journal(journal_dir(settings), token, serial, unit)
        session = BenchmarkSession(device, journal, reconnect_timeout_s)
        try:
            session.begin()
            yield session
        finally:
            session.end()


class BenchmarkSession:
    """What runners of benchmarks need of a device.

    Attributes:
        leftovers: what is still on it after the end, in words; empty in good order. The next sweep tries again.
    """

    leftovers: tuple[str, ...] = ()

    def __init__(self, device: Device, journal: Journal, reconnect_timeout_s: float) -> None:
        self._device = device
        self._journal = journal
        self._reconnect_timeout_s = reconnect_timeout_s
        self._folder = f"{SCRATCH_DIR}/perfreg-{device.token}"
        self._facts: DeviceFacts | None = None
        self._standing: list[Caveat] = []
        self._lost: Rejected | None = None
        self._apps: set[str] = set()
        self._outputs = 0

    # ---- frame -----------------------------------------------------------------------------------
    def begin(self) -> None:
        """Makes the folder, and looks what kind of device it is."""
        self._journal.owe("processes", self._device.token)
        self._journal.owe("file", self._folder)
        self._device.make_directory(self._folder)
        self._facts = self._device.facts()
        self._standing = self._lasting_caveats(self._facts)

    def end(self) -> None:
        """Pays the debts; what cannot be paid stays listed for the next sweep."""
        if self._lost is None:
            with suppress(Rejected):  # a device that is gone: it stays listed
                self._device.wait_ready(min(5.0, self._reconnect_timeout_s))
        left = self._journal.settle(self._device)
        self.leftovers = tuple(str(debt) for debt in left)
        if not left:
            self._journal.close()

    # ---- what it is ------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        assert self._facts is not None
        return self._facts.description

    @property
    def environment(self) -> Mapping[str, Any]:
        assert self._facts is not None
        return {
            "system": f"Android {self._facts.android_release}",
            "sdk": self._facts.sdk,
            "serial": self._facts.serial,
        }

    @property
    def sdk(self) -> int:
        assert self._facts is not None
        return self._facts.sdk

    @property
    def folder(self) -> str:
        return self._folder

    def _lasting_caveats(self, facts: DeviceFacts) -> list[Caveat]:
        found = []
        flags = ("ro.kernel.qemu", "ro.boot.qemu")
        is_qemu = any(self._device.check(["getprop", name]).strip() == "1" for name in flags)
        if is_qemu or _EMULATORS.search(facts.model):
            found.append(Caveat(Reason.EMULATOR, f"the device is {facts.model}"))
        clocks = [line.split() for line in self._device.script(_CLOCKS).text.splitlines()]
        free = [pair for pair in clocks if len(pair) == 2 and pair[0] != pair[1]]
        if free:
            detail = f"{len(free)} of {len(clocks)} cores are free between {free[0][0]} and {free[0][1]} kHz"
            found.append(Caveat(Reason.CLOCKS_UNLOCKED, detail))
        return found

    def caveats(self) -> list[Caveat]:
        """What is wrong with the device just now; nothing of one that is gone."""
        if self._lost is not None:
            return self._standing
        try:
            told = self._device.run(["dumpsys", "thermalservice"]).text
        except Rejected:  # it went away; the next launch waits for it, and says so
            return self._standing
        status = re.search(r"Thermal Status:\s*(\d+)", told)
        if status is None or int(status[1]) == 0:
            return self._standing
        return [*self._standing, Caveat(Reason.THROTTLED, f"the device's thermal status is {status[1]}")]

    # ---- files -----------------------------------------------------------------------------------
    def put(self, source: Path, name: str) -> str:
        """See `machine.Remote.put`."""
        path = f"{self._folder}/{name}"

        def copy() -> None:
            self._device.make_directory(str(PurePosixPath(path).parent))
            self._device.push(source, path, timeout_s=_TRANSFER_S)
            if os.access(source, os.X_OK):
                self._device.check(["chmod", "755", path])

        self._patiently(copy)
        return path

    def output_folder(self, package: str) -> str:
        """See `machine.Remote.output_folder`: since Android 11 an app writes into its own folders only."""
        own = f"{_MEDIA_DIR}/{package}"
        folder = f"{own}/perfreg-{self._device.token}-{self._outputs}"
        self._outputs += 1
        is_there = self._patiently(lambda: self._device.run(["test", "-d", own])).returncode == 0
        for path in (folder,) if is_there else (own, folder):
            self._journal.owe("file", path)
        self._patiently(lambda: self._device.make_directory(folder))
        return folder

    def documents(self, folder: str, ending: str) -> list[str]:
        """See `machine.Remote.documents`."""
        find = 'find "$1" -type f -name "*$2" | sort'
        paths = self._patiently(lambda: self._device.script(find, folder, ending)).text.splitlines()
        texts = [self._patiently(partial(self._device.check, ["cat", path])) for path in paths]
        self._patiently(lambda: self._device.remove(folder))
        return texts

    def will_run(self, package: str) -> None:
        """See `machine.Remote.will_run`."""
        if package not in self._apps:
            self._apps.add(package)
            self._journal.owe("running_app", package)

    def stop(self, package: str) -> None:
        """See `machine.Remote.stop`."""
        with suppress(Rejected):
            self._patiently(lambda: self._device.run(["am", "force-stop", package]))

    # ---- commands --------------------------------------------------------------------------------
    def run(self, argv: Sequence[str], *, timeout_s: float, inside: str) -> ShellResult:
        """See `machine.Remote.run`. A launch that a lost connection cut off is done once more."""

        def launch() -> ShellResult:
            try:
                return self._device.run(
                    ["sh", "-c", _INSIDE, "sh", inside, *argv], timeout_s=timeout_s, maximum_bytes=OUTPUT_BYTES_MAX
                )
            except Rejected as refusal:
                if refusal.reason is not Reason.DEVICE_TIMEOUT:
                    raise
                raise Rejected(Reason.BENCHMARK_TIMEOUT, f"{timeout_s:g} s were over") from refusal

        return self._patiently(launch)

    def _patiently(self, work: Callable[[], T]) -> T:
        """Does something; where the device went away meanwhile it is waited for, and it is done once more.

        Raises:
            Rejected: the device did not come back, now or at an earlier call.
        """
        if self._lost is not None:
            raise self._lost
        try:
            return work()
        except Rejected as refusal:
            if refusal.reason not in PASSING_REASONS:
                raise
            self._wait(refusal)
        return work()

    def _wait(self, refusal: Rejected) -> None:
        try:
            self._device.wait_ready(self._reconnect_timeout_s)
            for pid in self._device.marked_processes():  # what was cut off must not run beside what comes next
                self._device.signal_group(pid, "KILL")
        except Rejected as error:
            self._lost = refusal
            raise refusal from error
