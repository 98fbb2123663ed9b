"""One Android device over adb: commands, files, clocks. The only importer of adbutils.

Every call has a time limit and a named refusal. Commands are argument lists and become shell text in one place,
`quote_command`. A command that runs out of time is also ended on the device. What a collection starts carries
`PERFREG_COLLECTION=<id>` in its environment, so that a later sweep finds it without having seen its pid.

Protocol facts this file relies on (adb's shell v2 and sync services): the exit packet is the only proof that a
command ended; a vanished device looks like a normal end of stream.
"""

from __future__ import annotations

import errno
import hashlib
import re
import shlex
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn

import adbutils
from adbutils.errors import AdbError, AdbTimeout

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.whole_files import whole_file

TOKEN_VARIABLE = "PERFREG_COLLECTION"
SCRATCH_DIR = "/data/local/tmp"

_STDIN, _STDOUT, _STDERR, _EXIT, _CLOSE_STDIN = range(5)
_CHUNK = 64 * 1024
_READ_BLOCK = 64 * 1024
_MAX_COMMAND_BYTES = 0xFFFF  # adb writes the length as four hex digits
_PID_LINE = re.compile(rb"(\d+)\n")
_KILL_GRACE_S = 3.0


# ---- quoting -------------------------------------------------------------------------------------
def quote_command(argv: Sequence[str]) -> str:
    """Shell text that makes the device's `sh` see exactly these arguments.

    Raises:
        Rejected: COLLECTION_CONFIG_INVALID, an argument holds NUL or half of a surrogate pair.
    """
    for part in argv:
        if "\0" in part or not _is_unicode(part):
            raise Rejected(Reason.COLLECTION_CONFIG_INVALID, f"{part[:80]!r} cannot be an argument of a command")
    return shlex.join(argv)


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


# ---- choosing a device ---------------------------------------------------------------------------
@dataclass(frozen=True)
class AttachedDevice:
    serial: str
    state: str
    """adb's word: device, offline, unauthorized, authorizing, no permissions, recovery, …"""
    model: str | None = None
    """As adb knows it; None for a device that does not talk."""

    def __str__(self) -> str:
        return f"{self.serial} ({', '.join(part for part in (self.model, self.state) if part)})"


_DEVICE_LINE = re.compile(r"(?P<serial>\S+)\s+(?P<state>.+?)(?P<facts>(?:\s+[a-z_]+:\S*)*)\s*")


def parse_devices(listing: str) -> list[AttachedDevice]:
    """adb's long listing (`host:devices-l`)."""
    found = []
    for line in listing.splitlines():
        match = _DEVICE_LINE.fullmatch(line)
        if match is not None:
            model = re.search(r"\smodel:(\S+)", match["facts"])
            found.append(AttachedDevice(match["serial"], match["state"].strip(), model[1] if model else None))
    return found


@dataclass(frozen=True)
class DeviceFacts:
    """Attributes:
    serial: how adb names it, which is an address where it is reached by network.
    unit: its own serial number, the same however it is reached; adb's name where it has none.
    """

    serial: str
    unit: str
    model: str
    android_release: str
    sdk: int

    @property
    def description(self) -> str:
        """The device part of the test configuration, the same for every run on equal devices."""
        return f"{self.model} / Android {self.android_release}"


@dataclass(frozen=True)
class ShellResult:
    returncode: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", errors="replace")

    @property
    def error_text(self) -> str:
        """The last lines of stderr, or of stdout where stderr is empty, on one line."""
        text = (self.stderr or self.stdout).decode("utf-8", errors="replace")
        return " ".join(text.split())[-300:]


@dataclass(frozen=True)
class ClockSample:
    """The same moment on four clocks (s); `error_s` bounds how far they may be from the same moment."""

    host_boot_s: float
    host_wall_s: float
    device_boot_s: float
    device_wall_s: float
    error_s: float


def host_boot_s() -> float:
    """The host's clock that no one sets and that also runs while the computer sleeps (s)."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


def host_wall_s() -> float:
    return time.time()


class AdbServer:
    """The adb server of this host; `ANDROID_ADB_SERVER_PORT` chooses another one than the usual."""

    def __init__(self) -> None:
        self._client = adbutils.AdbClient()

    def devices(self) -> list[AttachedDevice]:
        """All attached devices, usable or not.

        Raises:
            Rejected: ADB_UNAVAILABLE.
        """
        with self._connection("host:devices-l") as connection:
            return parse_devices(connection.read_string_block())

    def choose(self, serial: str | None) -> AttachedDevice:
        """The one device to use, in whatever state it is.

        A serial `host:port` that is not attached yet is connected first.

        Raises:
            Rejected: NO_DEVICE, SEVERAL_DEVICES, DEVICE_NOT_FOUND, ADB_UNAVAILABLE.
        """
        devices = self.devices()
        if serial is not None and is_network_serial(serial) and serial not in {device.serial for device in devices}:
            self.connect(serial)
            devices = self.devices()
        if serial is None:
            if not devices:
                raise Rejected(Reason.NO_DEVICE, "adb lists no device")
            if len(devices) > 1:
                raise Rejected(Reason.SEVERAL_DEVICES, f"adb lists {', '.join(map(str, devices))}")
            return devices[0]
        for device in devices:
            if device.serial == serial:
                return device
        listed = ", ".join(map(str, devices)) or "none"
        raise Rejected(Reason.DEVICE_NOT_FOUND, f"{serial!r} is not among the attached devices ({listed})")

    def connect(self, serial: str, *, timeout_s: float = 5.0) -> str:
        """Asks the server to connect to `host:port`; returns its answer, which is not proof of anything."""
        try:
            return str(self._client.connect(serial, timeout=timeout_s))
        except (AdbError, OSError) as error:
            return str(error)

    def disconnect(self, serial: str) -> None:
        """Makes the server forget a network device; one that it does not know is fine."""
        with suppress(AdbError, OSError):
            self._client.disconnect(serial)

    def open(self, timeout_s: float) -> adbutils.AdbConnection:
        """A connection to the server, which is started first where none answers.

        Raises:
            Rejected: ADB_UNAVAILABLE.
        """
        try:
            with socket.create_connection((self._client.host, self._client.port), timeout=3):
                pass
        except OSError:
            self._start()
        try:
            return self._client.make_connection(timeout=timeout_s)
        except (AdbError, OSError, subprocess.SubprocessError) as error:
            raise Rejected(Reason.ADB_UNAVAILABLE, _one_line(error)) from error

    @staticmethod
    def _start() -> None:
        # adbutils would start it as well, but with its chatter on our standard output.
        try:
            subprocess.run(
                [adbutils.adb_path(), "start-server"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=20,
                check=True,
            )
        except (AdbError, OSError, subprocess.SubprocessError) as error:
            raise Rejected(Reason.ADB_UNAVAILABLE, _one_line(error)) from error

    @contextmanager
    def _connection(self, service: str, timeout_s: float = 10.0) -> Iterator[adbutils.AdbConnection]:
        connection = self.open(timeout_s)
        try:
            connection.send_command(service)
            connection.check_okay()
            yield connection
        except (AdbError, OSError) as error:
            raise Rejected(Reason.ADB_UNAVAILABLE, f"{service}: {_one_line(error)}") from error
        finally:
            connection.close()


def is_network_serial(serial: str) -> bool:
    return re.fullmatch(r"[^\s]+:\d{1,5}", serial) is not None


def is_remote_serial(serial: str) -> bool:
    """Reached over a radio or cable network, so that airplane mode may cut it off."""
    return is_network_serial(serial) and not re.match(r"(127\.|localhost:|\[?::1\]?:)", serial)


def _refuse_state(device: AttachedDevice) -> None:
    if device.state == "device":
        return
    if device.state == "offline":
        raise Rejected(Reason.DEVICE_OFFLINE, f"{device.serial} is offline")
    if device.state in ("unauthorized", "authorizing"):
        raise Rejected(Reason.DEVICE_UNAUTHORIZED, f"{device.serial} is {device.state}")
    raise Rejected(Reason.DEVICE_OFFLINE, f"{device.serial} is in state {device.state!r}, not 'device'")


# ---- one device ----------------------------------------------------------------------------------
class Device:
    """Commands and files on one device. `token` marks every process that is started through it."""

    def __init__(self, server: AdbServer, serial: str, *, token: str, command_timeout_s: float = 30.0) -> None:
        self.serial = serial
        self.token = token
        self.command_timeout_s = command_timeout_s
        self._server = server

    # -- commands --
    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float | None = None,
        stdin: bytes = b"",
        maximum_bytes: int = 64 << 20,
    ) -> ShellResult:
        """Runs a command to its end; whatever its return code is, it is returned.

        Raises:
            Rejected: DEVICE_TIMEOUT (the command was ended on the device as well), DEVICE_LOST, DEVICE_OFFLINE,
                DEVICE_UNAUTHORIZED, DEVICE_COMMAND_FAILED (more output than `maximum_bytes`).
        """
        timeout_s = self.command_timeout_s if timeout_s is None else timeout_s
        deadline = time.monotonic() + timeout_s
        text = f"export {TOKEN_VARIABLE}={quote_command([self.token])}; echo $$; exec {quote_command(argv)}"
        output: dict[int, bytearray] = {_STDOUT: bytearray(), _STDERR: bytearray()}
        with self._service(f"shell,v2,raw:{text}", deadline, what=argv[0]) as connection:
            try:
                if stdin:
                    self._send_stdin(connection, stdin)
                for kind, data in self._packets(connection, deadline):
                    if kind == _EXIT:
                        return ShellResult(data[0], _without_pid(output[_STDOUT]), bytes(output[_STDERR]))
                    if kind in output:
                        output[kind] += data
                    if len(output[_STDOUT]) + len(output[_STDERR]) > maximum_bytes:
                        self._end_command(bytes(output[_STDOUT]))
                        raise Rejected(
                            Reason.DEVICE_COMMAND_FAILED, f"{argv[0]} printed more than {maximum_bytes:,} bytes"
                        )
            except AdbTimeout as error:
                self._end_command(bytes(output[_STDOUT]))
                raise Rejected(
                    Reason.DEVICE_TIMEOUT, f"{_short(argv)} on {self.serial} took longer than {timeout_s:g} s"
                ) from error
        # The stream ended without an exit packet: the device, the cable or the server is gone.
        raise Rejected(Reason.DEVICE_LOST, f"{self.serial} went away during {_short(argv)}")

    def check(self, argv: Sequence[str], *, timeout_s: float | None = None, stdin: bytes = b"") -> str:
        """Like `run`, but a return code other than 0 is refused; returns stdout as text.

        Raises:
            Rejected: DEVICE_COMMAND_FAILED and those of `run`.
        """
        result = self.run(argv, timeout_s=timeout_s, stdin=stdin)
        if result.returncode != 0:
            raise Rejected(
                Reason.DEVICE_COMMAND_FAILED, f"{_short(argv)} returned {result.returncode}: {result.error_text}"
            )
        return result.text

    def script(self, script: str, *arguments: str, timeout_s: float | None = None) -> ShellResult:
        """Runs a fixed piece of shell; data goes in as `$1`, `$2`, … and never into the text."""
        return self.run(["sh", "-c", script, "sh", *arguments], timeout_s=timeout_s)

    def start_background(self, argv: Sequence[str], *, log_path: str) -> BackgroundProcess:
        """Starts a command that outlives the adb connection; its output goes to `log_path` on the device.

        Beside the log: `<log>.pid`, and when it has ended `<log>.rc` with its return code. Called again while it
        runs, it is not started twice.

        Raises:
            Rejected: DEVICE_COMMAND_FAILED and those of `run`.
        """
        result = self.script(_BACKGROUND, log_path, *argv)
        if result.returncode != 0 or not result.text.strip().isdigit():
            raise Rejected(Reason.DEVICE_COMMAND_FAILED, f"{_short(argv)} did not start: {result.error_text}")
        return BackgroundProcess(self, int(result.text), log_path)

    def is_alive(self, pid: int) -> bool:
        """True while the process exists and is not a zombie that nobody has reaped."""
        status = self.script(_PROCESS_STATE, str(pid)).text.strip()
        return status not in ("", "Z", "X")

    def signal_group(self, pid: int, signal_name: str) -> None:
        """Signals a process and its group; one that is gone already is fine."""
        self.script(_SIGNAL, signal_name, str(pid))

    def marked_processes(self) -> list[int]:
        """Pids of the processes that carry this collection's token."""
        found = self.script(_MARKED, f"{TOKEN_VARIABLE}={self.token}").text.split()
        return [int(pid) for pid in found if pid.isdigit()]

    # -- state --
    def marked_as(self, token: str) -> Device:
        """The same device, looked at with another collection's token."""
        return Device(self._server, self.serial, token=token, command_timeout_s=self.command_timeout_s)

    def wait_ready(self, timeout_s: float) -> None:
        """Waits until adb calls the device `device` and a command runs on it; reconnects network devices.

        Raises:
            Rejected: the last obstacle, when `timeout_s` has passed.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                _refuse_state(self._server.choose(self.serial))
                self.run(["true"], timeout_s=min(10.0, max(1.0, timeout_s)))
                return
            except Rejected as refusal:
                if time.monotonic() >= deadline:
                    raise
                if refusal.reason not in PASSING_REASONS:
                    raise
                if is_network_serial(self.serial):
                    self._reconnect()
                time.sleep(0.1)

    def _reconnect(self) -> None:
        state = {device.serial: device.state for device in self._server.devices()}.get(self.serial)
        if state == "offline":  # the server calls that "already connected" and tries again in its own time
            self._server.disconnect(self.serial)
        if state != "device":
            self._server.connect(self.serial, timeout_s=3.0)

    def facts(self) -> DeviceFacts:
        """Serial number, model, Android release and API level.

        Raises:
            Rejected: DEVICE_COMMAND_FAILED, the device does not know its API level.
        """
        names = ("ro.serialno", "ro.product.model", "ro.build.version.release", "ro.build.version.sdk")
        unit, model, release, sdk = (self.check(["getprop", name]).strip() for name in names)
        if not sdk.isdigit():
            raise Rejected(Reason.DEVICE_COMMAND_FAILED, f"getprop ro.build.version.sdk on {self.serial} is {sdk!r}")
        return DeviceFacts(self.serial, unit or self.serial, model or "unknown model", release or "unknown", int(sdk))

    def free_bytes(self, directory: str) -> int:
        """Free space where `directory` lies.

        Raises:
            Rejected: DEVICE_COMMAND_FAILED, `df` printed something else than a table.
        """
        lines = self.check(["df", "-k", directory]).strip().splitlines()
        columns = lines[-1].split() if len(lines) > 1 else []
        numbers = [int(column) for column in columns if column.isdigit()]
        if len(numbers) < 3:
            raise Rejected(Reason.DEVICE_COMMAND_FAILED, f"df -k {directory} printed {' '.join(lines)[:200]!r}")
        return numbers[2] * 1024

    def clock_sample(self, *, attempts: int = 5) -> ClockSample:
        """Host and device clocks at one moment; of several attempts the one with the smallest error.

        `/proc/uptime` counts since boot including sleep, as the trace's clock (BOOTTIME) does, in steps of 10 ms.

        Raises:
            Rejected: DEVICE_COMMAND_FAILED, the device printed no clock.
        """
        best: ClockSample | None = None
        for _ in range(attempts):
            before, wall = host_boot_s(), host_wall_s()
            text = self.script(_CLOCKS).text
            after = host_boot_s()
            match = re.match(r"(\d+\.\d+) \S+\s+(\d+\.\d+)", text)
            if match is None:
                raise Rejected(Reason.DEVICE_COMMAND_FAILED, f"the clocks of {self.serial} read {text[:80]!r}")
            half = (after - before) / 2
            sample = ClockSample(
                host_boot_s=before + half,
                host_wall_s=wall + half,
                device_boot_s=float(match[1]) + 0.005,
                device_wall_s=float(match[2]),
                error_s=half + 0.005,
            )
            if best is None or sample.error_s < best.error_s:
                best = sample
        assert best is not None
        return best

    # -- files --
    def file_bytes(self, path: str) -> int | None:
        """Size of a file on the device; None where there is none."""
        result = self.run(["stat", "-c", "%s", "--", path])
        text = result.text.strip()
        return int(text) if result.returncode == 0 and text.isdigit() else None

    def read_from(self, path: str, offset: int, maximum_bytes: int, *, timeout_s: float | None = None) -> bytes:
        """The bytes of a file on the device from an offset on, which may still grow; none behind its end.

        Raises:
            Rejected: DEVICE_COMMAND_FAILED, the shell may not read it; those of `run`.
        """
        first, skipped = divmod(offset, _READ_BLOCK)
        count = -(-(skipped + maximum_bytes) // _READ_BLOCK)
        result = self.run(
            ["dd", f"if={path}", f"bs={_READ_BLOCK}", f"skip={first}", f"count={count}"],
            timeout_s=timeout_s, maximum_bytes=2 * (maximum_bytes + 2 * _READ_BLOCK),
        )  # fmt: skip
        if result.returncode != 0:
            raise Rejected(Reason.DEVICE_COMMAND_FAILED, f"{path} on {self.serial} cannot be read: {result.error_text}")
        return result.stdout[skipped : skipped + maximum_bytes]

    def file_sha256(self, path: str, *, timeout_s: float) -> str:
        """SHA-256 of a file on the device.

        Raises:
            Rejected: DEVICE_COMMAND_FAILED.
        """
        digest = self.check(["sha256sum", "--", path], timeout_s=timeout_s).split(maxsplit=1)
        if not digest or not re.fullmatch(r"\\?[0-9a-f]{64}", digest[0]):
            raise Rejected(Reason.DEVICE_COMMAND_FAILED, f"sha256sum {path} printed {' '.join(digest)[:120]!r}")
        return digest[0].removeprefix("\\")

    def make_directory(self, path: str) -> None:
        """A new folder that other users of the device may read (the installer does).

        Raises:
            Rejected: DEVICE_COMMAND_FAILED.
        """
        self.check(["mkdir", "-p", "-m", "755", path])

    def remove(self, path: str) -> bool:
        """Deletes a file or folder; False when the device refused and it is still there."""
        result = self.script(_REMOVE, path)
        return result.returncode == 0

    def push(self, source: Path, path: str, *, timeout_s: float) -> None:
        """Copies a host file to the device and compares size and SHA-256.

        Raises:
            Rejected: TRANSFER_DAMAGED, DEVICE_COMMAND_FAILED, DEVICE_TIMEOUT, DEVICE_LOST.
        """
        deadline = time.monotonic() + timeout_s
        digest, size = hashlib.sha256(), 0
        with source.open("rb") as stream, self._service("sync:", deadline, what="push") as connection:
            try:
                _send_sync(connection, b"SEND", f"{path},{0o100644}".encode())
                while chunk := stream.read(_CHUNK):
                    connection.conn.settimeout(_remaining(deadline))
                    connection.conn.sendall(b"DATA" + struct.pack("<I", len(chunk)) + chunk)
                    digest.update(chunk)
                    size += len(chunk)
                connection.conn.sendall(b"DONE" + struct.pack("<I", int(time.time())))
                status, length = struct.unpack("<4sI", connection.read_exact(8))
                if status != b"OKAY":
                    message = connection.read_exact(length).decode("utf-8", errors="replace")
                    self._refuse_transfer(message, f"push of {source.name}")
            except TimeoutError as error:
                raise self._transfer_timeout(f"push of {source.name}", timeout_s) from error
        if self.file_bytes(path) != size or self.file_sha256(path, timeout_s=timeout_s) != digest.hexdigest():
            raise Rejected(Reason.TRANSFER_DAMAGED, f"{source.name} arrived on {self.serial} with other content")

    def pull(
        self, path: str, target: Path, *, timeout_s: float, on_bytes: Callable[[int], None] | None = None
    ) -> tuple[int, str]:
        """Copies a device file to `target` (whole and synced, or not at all); returns (bytes, SHA-256).

        Size and SHA-256 are taken on both sides; `target` appears only when they agree.

        Raises:
            Rejected: TRANSFER_DAMAGED, HOST_NO_SPACE, DEVICE_COMMAND_FAILED, DEVICE_TIMEOUT, DEVICE_LOST.
        """
        expected_bytes = self.file_bytes(path)
        if expected_bytes is None:
            raise Rejected(Reason.TRANSFER_DAMAGED, f"{path} is not on {self.serial}")
        expected_sha256 = self.file_sha256(path, timeout_s=timeout_s)
        try:
            with whole_file(target, is_durable=True) as out:
                size, digest = self._pull_to(out, path, timeout_s, on_bytes)
                if (size, digest) != (expected_bytes, expected_sha256):
                    raise Rejected(
                        Reason.TRANSFER_DAMAGED, f"{path}: {expected_bytes:,} bytes on the device, {size:,} arrived"
                    )
        except OSError as error:
            raise _host_write_refusal(error, target) from error
        return size, digest

    def _pull_to(
        self, out: BinaryIO, path: str, timeout_s: float, on_bytes: Callable[[int], None] | None
    ) -> tuple[int, str]:
        deadline = time.monotonic() + timeout_s
        digest, size = hashlib.sha256(), 0
        with self._service("sync:", deadline, what="pull") as connection:
            try:
                _send_sync(connection, b"RECV", path.encode())
                while True:
                    connection.conn.settimeout(_remaining(deadline))
                    status, length = struct.unpack("<4sI", connection.read_exact(8))
                    if status == b"DONE":
                        break
                    chunk = connection.read_exact(length)
                    if status != b"DATA":
                        self._refuse_transfer(chunk.decode("utf-8", errors="replace"), f"pull of {path}")
                    try:
                        out.write(chunk)
                    except OSError as error:
                        raise _host_write_refusal(error, Path(out.name)) from error
                    digest.update(chunk)
                    size += len(chunk)
                    if on_bytes is not None:
                        on_bytes(size)
            except (TimeoutError, AdbTimeout) as error:
                raise self._transfer_timeout(f"pull of {path}", timeout_s) from error
        return size, digest.hexdigest()

    def _refuse_transfer(self, message: str, what: str) -> NoReturn:
        reason = Reason.DEVICE_NO_SPACE if "No space left" in message else Reason.DEVICE_COMMAND_FAILED
        raise Rejected(reason, f"{what} on {self.serial}: {message[:200]}")

    def _transfer_timeout(self, what: str, timeout_s: float) -> Rejected:
        return Rejected(Reason.DEVICE_TIMEOUT, f"{what} on {self.serial} took longer than {timeout_s:g} s")

    # -- protocol --
    @contextmanager
    def _service(self, service: str, deadline: float, *, what: str) -> Iterator[adbutils.AdbConnection]:
        """An open connection to a service of this device; adb's own errors become named refusals."""
        if len(service.encode()) > _MAX_COMMAND_BYTES:
            raise Rejected(Reason.COLLECTION_CONFIG_INVALID, f"the command for {what} is longer than adb allows")
        connection: adbutils.AdbConnection | None = None
        try:
            connection = self._server.open(_remaining(deadline))
            connection.send_command(f"host:transport:{self.serial}")
            connection.check_okay()
            connection.send_command(service)
            connection.check_okay()
            yield connection
        except AdbTimeout as error:
            raise Rejected(Reason.DEVICE_TIMEOUT, f"{what} on {self.serial}: {_one_line(error)}") from error
        except (AdbError, EOFError, ConnectionError, TimeoutError) as error:
            raise self._adb_refusal(error, what) from error
        finally:
            if connection is not None:
                connection.close()

    def _adb_refusal(self, error: BaseException, what: str) -> Rejected:
        text = _one_line(error)
        if "connect to adb server" in text or isinstance(error, ConnectionRefusedError):
            return Rejected(Reason.ADB_UNAVAILABLE, text)
        if "offline" in text:
            return Rejected(Reason.DEVICE_OFFLINE, f"{self.serial}: {text}")
        if "unauthorized" in text:
            return Rejected(Reason.DEVICE_UNAUTHORIZED, f"{self.serial}: {text}")
        return Rejected(Reason.DEVICE_LOST, f"{self.serial} during {what}: {text or type(error).__name__}")

    @staticmethod
    def _send_stdin(connection: adbutils.AdbConnection, data: bytes) -> None:
        for start in range(0, len(data), _CHUNK):
            chunk = data[start : start + _CHUNK]
            connection.conn.sendall(struct.pack("<BI", _STDIN, len(chunk)) + chunk)
        connection.conn.sendall(struct.pack("<BI", _CLOSE_STDIN, 0))

    @staticmethod
    def _packets(connection: adbutils.AdbConnection, deadline: float) -> Iterator[tuple[int, bytes]]:
        """Packets of the shell service until the stream ends; AdbTimeout when `deadline` passes."""
        while True:
            connection.conn.settimeout(_remaining(deadline))
            header = connection.read(5)
            if len(header) < 5:
                return
            kind, length = struct.unpack("<BI", header)
            data = connection.read(length)
            if len(data) < length:
                return
            yield kind, data

    def _end_command(self, stdout: bytes) -> None:
        """Ends a command that is still running on the device, known by the pid it printed first."""
        match = _PID_LINE.match(stdout)
        if match is None:
            return
        pid = match[1].decode()
        connection_s = 10.0
        text = quote_command(["sh", "-c", _END, "sh", pid])
        try:
            deadline = time.monotonic() + connection_s
            with self._service(f"shell,v2,raw:{text}", deadline, what="kill") as connection:
                for kind, _ in self._packets(connection, deadline):
                    if kind == _EXIT:
                        return
        except (Rejected, AdbTimeout):
            return  # the device does not answer; its processes carry the token and the next sweep ends them


PASSING_REASONS = frozenset(
    {
        Reason.DEVICE_LOST,
        Reason.DEVICE_OFFLINE,
        Reason.DEVICE_NOT_FOUND,
        Reason.NO_DEVICE,
        Reason.DEVICE_TIMEOUT,
        Reason.ADB_UNAVAILABLE,
    }
)
"""Refusals that a reconnecting device or a restarting server makes for a while."""


@dataclass
class BackgroundProcess:
    """A command on the device that was started by `Device.start_background`."""

    device: Device
    pid: int
    log_path: str
    _log_offset: int = 0

    def poll(self) -> tuple[int | None, str]:
        """(return code or None while it runs, output since the last call). -1: gone without a return code."""
        result = self.device.script(_POLL_BACKGROUND, self.log_path, str(self._log_offset + 1), str(self.pid))
        head, _, log = result.stdout.partition(b"\n")
        self._log_offset += len(log)
        status = head.decode("ascii", errors="replace").strip()
        text = log.decode("utf-8", errors="replace")
        if status == "running":
            return None, text
        return (int(status) if status.isdigit() else -1), text

    def terminate(self, *, timeout_s: float = _KILL_GRACE_S) -> None:
        """Ends it and what it started: TERM, then KILL; returns when the device says that it is gone."""
        self.device.signal_group(self.pid, "TERM")
        deadline = time.monotonic() + timeout_s
        while self.device.is_alive(self.pid):
            if time.monotonic() >= deadline:
                self.device.signal_group(self.pid, "KILL")
            time.sleep(0.1)
            if time.monotonic() >= deadline + timeout_s:
                raise Rejected(Reason.DEVICE_COMMAND_FAILED, f"process {self.pid} cannot be ended")


# ---- pieces of shell that run on the device (POSIX sh with toybox) ---------------------------------
_BACKGROUND = (
    'log=$1; shift; command -v "$1" >/dev/null || { echo "$1: not found" >&2; exit 127; }; '
    # Asked again after a lost connection: the one that was started then is the one.
    'old=$(cat "$log.pid" 2>/dev/null); [ -n "$old" ] && kill -0 "$old" 2>/dev/null && { echo "$old"; exit 0; }; '
    'setsid sh -c \'log=$1; shift; "$@"; echo $? >"$log.rc.part"; mv "$log.rc.part" "$log.rc"\' sh "$log" "$@" '
    '</dev/null >"$log" 2>&1 & echo $! >"$log.pid"; echo $!'
)
_STATE_OF = (
    # A process that has ended and is not reaped yet is still there for kill, and may be gone after any look at it:
    # the state is read once, and only where nothing could be read it is asked whether the process is there at all.
    'state_of() { s=$(sed -n "s/^State:[[:space:]]*//p" "/proc/$1/status" 2>/dev/null | cut -c1); '
    '[ -n "$s" ] || { [ -e "/proc/$1" ] && s=unknown; }; echo "$s"; }; '
)
_POLL_BACKGROUND = _STATE_OF + (
    # The return code is looked for before the process: the other way round a process that ends in between is lost.
    'rc=$(cat "$1.rc" 2>/dev/null); if [ -n "$rc" ]; then echo "$rc"; '
    'elif case "$(state_of "$3")" in ""|[ZX]) false;; esac; then echo running; '
    'else rc=$(cat "$1.rc" 2>/dev/null); echo "${rc:-gone}"; fi; tail -c "+$2" "$1" 2>/dev/null'
)
_PROCESS_STATE = _STATE_OF + 'state_of "$1"'
_KILL = (
    # `kill -TERM -- -PID` is an error in some shells; this spelling is POSIX's.
    'end() { kill -s "$1" -- "-$2" 2>/dev/null; kill -s "$1" "$2" 2>/dev/null; true; }; '
)
_SIGNAL = _KILL + 'end "$1" "$2"'
_END = _KILL + 'end TERM "$1"; for i in 1 2 3 4 5; do kill -0 "$1" 2>/dev/null || break; sleep 0.1; done; end KILL "$1"'
_MARKED = (
    # The searching shell carries the token itself: it and what it starts are left out.
    'for f in $(grep -l -s -z -x -F -e "$1" /proc/[0-9]*/environ); do p=${f#/proc/}; p=${p%/environ}; '
    'stat=$(cat "/proc/$p/stat" 2>/dev/null) || continue; set -- ${stat##*) }; '
    '[ "$p" = "$$" ] || [ "$2" = "$$" ] || [ "$1" = Z ] || echo "$p"; done'
)
_REMOVE = 'rm -rf -- "$1" 2>/dev/null; [ ! -e "$1" ]'
_CLOCKS = "cat /proc/uptime; date +%s.%N"


# ---- small parts -----------------------------------------------------------------------------------
def _without_pid(stdout: bytearray) -> bytes:
    match = _PID_LINE.match(stdout)
    return bytes(stdout[match.end() :] if match else stdout)


def _send_sync(connection: adbutils.AdbConnection, command: bytes, argument: bytes) -> None:
    connection.conn.sendall(command + struct.pack("<I", len(argument)) + argument)


def _remaining(deadline: float) -> float:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise AdbTimeout("the time limit has passed")
    return remaining


def _host_write_refusal(error: OSError, target: Path) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Rejected(Reason.HOST_NO_SPACE, f"{target.parent} is full")
    return error


def _short(argv: Sequence[str]) -> str:
    text = " ".join(argv) if len(argv) < 3 or argv[1] != "-c" else "a device script"
    return text if len(text) <= 80 else text[:77] + "…"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
