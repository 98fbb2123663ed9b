"""What there is to reach devices with: adb, and the devices that it lists."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import adbutils
from adbutils.errors import AdbError

from perfreg_assets.collection.adb_server import AdbServer, AttachedDevice
from perfreg_assets.reasons import Reason, Rejected


def adb_program() -> Path:
    """The adb that is used: of the package adbutils, or the one on the PATH.

    Raises:
        Rejected: ADB_UNAVAILABLE.
    """
    try:
        path = Path(adbutils.adb_path())
    except AdbError as error:
        raise Rejected(Reason.ADB_UNAVAILABLE, str(error)) from error
    if not os.access(path, os.X_OK):
        raise Rejected(Reason.ADB_UNAVAILABLE, f"{path} is no program that can be run")
    return path


def listed_devices() -> list[AttachedDevice] | None:
    """The devices that a running adb server knows; None where none runs: nothing is started for a look.

    Raises:
        Rejected: ADB_UNAVAILABLE.
    """
    client = adbutils.AdbClient()
    try:
        with socket.create_connection((client.host, client.port), timeout=1):
            pass
    except OSError:
        return None
    return AdbServer().devices()
