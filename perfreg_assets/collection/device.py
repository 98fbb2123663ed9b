"""One Android device over adb: commands, files, clocks.

Every call has a time limit and a named refusal. Commands are argument lists and become shell text in one place,
`quote_command`. A command that runs out of time is also ended on the device. What a collection starts carries
`PERFREG_COLLECTION=<id>` in its environment, so that a later sweep finds it without having seen its pid.
"""

from __future__ import annotations

import errno
import hashlib
import re
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn

import adbutils
from adbutils.errors import AdbError, AdbTimeout

from perfreg_assets.collection.adb_server import (
    PASSING_REASONS,
    AdbServer,
    is_network_serial,
    one_line,
    refuse_state,
)
from perfreg_assets.collection.adb_stream import (
    CHUNK_BYTES,
    EXIT,
    STDERR,
    STDOUT,
    packets,
    remaining_s,
    send_stdin,
    send_sync,
)
from perfreg_assets.collection.clock import ClockSample, host_boot_s, host_wall_s
from perfreg_assets.collection.device_shell import CLOCKS, END, MARKED, PROCESS_STATE, REMOVE, SIGNAL, quote_command
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.whole_files import whole_file

TOKEN_VARIABLE = "PERFREG_COLLECTION"
SCRATCH_DIR = "/data/local/tmp"

_READ_BLOCK = 64 * 1024
_MAX_COMMAND_BYTES = 0xFFFF  # adb writes the length as four hex digits
_PID_LINE = re.compile(rb"(\d+)\n")


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
        output: dict[int, bytearray] = {STDOUT: bytearray(), STDERR: bytearray()}
        with self._service(f"shell,v2,raw:{text}", deadline, what=argv[0]) as connection:
            try:
                if stdin:
                    send_stdin(connection, stdin)
                for kind, data in packets(connection, deadline):
                    if kind == EXIT:
                        return ShellResult(data[0], _without_pid(output[STDOUT]), bytes(output[STDERR]))
                    if kind in output:
                        output[kind] += data
                    if len(output[STDOUT]) + len(output[STDERR]) > maximum_bytes:
                        self._end_command(bytes(output[STDOUT]))
                        raise Rejected(
                            Reason.DEVICE_COMMAND_FAILED, f"{argv[0]} printed more than {maximum_bytes:,} bytes"
                        )
            except AdbTimeout as error:
                self._end_command(bytes(output[STDOUT]))
                raise Rejected(
                    Reason.DEVICE_TIMEOUT, f"{shortened(argv)} on {self.serial} took longer than {timeout_s:g} s"
                ) from error
        # The stream ended without an exit packet: the device, the cable or the server is gone.
        raise Rejected(Reason.DEVICE_LOST, f"{self.serial} went away during {shortened(argv)}")

    def check(self, argv: Sequence[str], *, timeout_s: float | None = None, stdin: bytes = b"") -> str:
        """Like `run`, but a return code other than 0 is refused; returns stdout as text.

        Raises:
            Rejected: DEVICE_COMMAND_FAILED and those of `run`.
        """
        result = self.run(argv, timeout_s=timeout_s, stdin=stdin)
        if result.returncode != 0:
            raise Rejected(
                Reason.DEVICE_COMMAND_FAILED, f"{shortened(argv)} returned {result.returncode}: {result.error_text}"
            )
        return result.text

    def script(self, script: str, *arguments: str, timeout_s: float | None = None) -> ShellResult:
        """Runs a fixed piece of shell; data goes in as `$1`, `$2`, … and never into the text."""
        return self.run(["sh", "-c", script, "sh", *arguments], timeout_s=timeout_s)

    def is_alive(self, pid: int) -> bool:
        """True while the process exists and is not a zombie that nobody has reaped."""
        status = self.script(PROCESS_STATE, str(pid)).text.strip()
        return status not in ("", "Z", "X")

    def signal_group(self, pid: int, signal_name: str) -> None:
        """Signals a process and its group; one that is gone already is fine."""
        self.script(SIGNAL, signal_name, str(pid))

    def marked_processes(self) -> list[int]:
        """Pids of the processes that carry this collection's token."""
        found = self.script(MARKED, f"{TOKEN_VARIABLE}={self.token}").text.split()
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
                refuse_state(self._server.choose(self.serial))
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
            text = self.script(CLOCKS).text
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
        result = self.script(REMOVE, path)
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
                send_sync(connection, b"SEND", f"{path},{0o100644}".encode())
                while chunk := stream.read(CHUNK_BYTES):
                    connection.conn.settimeout(remaining_s(deadline))
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
                send_sync(connection, b"RECV", path.encode())
                while True:
                    connection.conn.settimeout(remaining_s(deadline))
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
            connection = self._server.open(remaining_s(deadline))
            connection.send_command(f"host:transport:{self.serial}")
            connection.check_okay()
            connection.send_command(service)
            connection.check_okay()
            yield connection
        except AdbTimeout as error:
            raise Rejected(Reason.DEVICE_TIMEOUT, f"{what} on {self.serial}: {one_line(error)}") from error
        except (AdbError, EOFError, ConnectionError, TimeoutError) as error:
            raise self._adb_refusal(error, what) from error
        finally:
            if connection is not None:
                connection.close()

    def _adb_refusal(self, error: BaseException, what: str) -> Rejected:
        text = one_line(error)
        if "connect to adb server" in text or isinstance(error, ConnectionRefusedError):
            return Rejected(Reason.ADB_UNAVAILABLE, text)
        if "offline" in text:
            return Rejected(Reason.DEVICE_OFFLINE, f"{self.serial}: {text}")
        if "unauthorized" in text:
            return Rejected(Reason.DEVICE_UNAUTHORIZED, f"{self.serial}: {text}")
        return Rejected(Reason.DEVICE_LOST, f"{self.serial} during {what}: {text or type(error).__name__}")

    def _end_command(self, stdout: bytes) -> None:
        """Ends a command that is still running on the device, known by the pid it printed first."""
        match = _PID_LINE.match(stdout)
        if match is None:
            return
        pid = match[1].decode()
        connection_s = 10.0
        text = quote_command(["sh", "-c", END, "sh", pid])
        try:
            deadline = time.monotonic() + connection_s
            with self._service(f"shell,v2,raw:{text}", deadline, what="kill") as connection:
                for kind, _ in packets(connection, deadline):
                    if kind == EXIT:
                        return
        except (Rejected, AdbTimeout):
            return  # the device does not answer; its processes carry the token and the next sweep ends them


def _without_pid(stdout: bytearray) -> bytes:
    match = _PID_LINE.match(stdout)
    return bytes(stdout[match.end() :] if match else stdout)


def _host_write_refusal(error: OSError, target: Path) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Rejected(Reason.HOST_NO_SPACE, f"{target.parent} is full")
    return error


def shortened(argv: Sequence[str]) -> str:
    """A command as messages name it."""
    text = " ".join(argv) if len(argv) < 3 or argv[1] != "-c" else "a device script"
    return text if len(text) <= 80 else text[:77] + "…"
