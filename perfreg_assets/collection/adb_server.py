"""The adb server of this host: which devices it knows, in what state, and connections to it."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import adbutils
from adbutils.errors import AdbError

from perfreg_assets.reasons import Reason, Rejected

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
            raise Rejected(Reason.ADB_UNAVAILABLE, one_line(error)) from error

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
            raise Rejected(Reason.ADB_UNAVAILABLE, one_line(error)) from error

    @contextmanager
    def _connection(self, service: str, timeout_s: float = 10.0) -> Iterator[adbutils.AdbConnection]:
        connection = self.open(timeout_s)
        try:
            connection.send_command(service)
            connection.check_okay()
            yield connection
        except (AdbError, OSError) as error:
            raise Rejected(Reason.ADB_UNAVAILABLE, f"{service}: {one_line(error)}") from error
        finally:
            connection.close()


def is_network_serial(serial: str) -> bool:
    return re.fullmatch(r"[^\s]+:\d{1,5}", serial) is not None


def is_remote_serial(serial: str) -> bool:
    """Reached over a radio or cable network, so that airplane mode may cut it off: by its address, or by the name that
    adb has it by where it announced itself (wireless debugging)."""
    if re.search(r"\._adb(-tls-connect)?\._tcp\.?$", serial):
        return True
    return is_network_serial(serial) and not re.match(r"(127\.|localhost:|\[?::1\]?:)", serial)


def refuse_state(device: AttachedDevice) -> None:
    """Refuses a device that adb does not call usable.

    Raises:
        Rejected: DEVICE_OFFLINE, DEVICE_UNAUTHORIZED.
    """
    if device.state == "device":
        return
    if device.state == "offline":
        raise Rejected(Reason.DEVICE_OFFLINE, f"{device.serial} is offline")
    if device.state == "unauthorized":
        raise Rejected(Reason.DEVICE_UNAUTHORIZED, f"{device.serial} is {device.state}")
    # "authorizing" too: each device is, for a moment, that is plugged in again, until adb's key was tried.
    raise Rejected(Reason.DEVICE_OFFLINE, f"{device.serial} is in state {device.state!r}, not 'device'")


def one_line(error: BaseException) -> str:
    """What an error says, without line ends, for a message."""
    return " ".join(str(error).split())[:300]
