"""Fixtures of the stand-in device, for every test folder (loaded by `tests/conftest.py`).

`standin`: the device, reset before each test, attached to an adb server of the session's own.
Skipped, with the reason, where it cannot be set up.
"""

import time
from pathlib import Path

import adbutils
import pytest
import standin as device

TRACE = Path(__file__).parents[1] / "data" / "sessions" / "notes-001" / "trace.perfetto-trace.gz"


@pytest.fixture(scope="session")
def _adb_server(tmp_path_factory):
    try:
        device.fetch_adbd(device.cache_dir())
    except device.Unavailable as reason:
        pytest.skip(f"no stand-in device: {reason}")
    with device.private_adb_server(tmp_path_factory.mktemp("adb")) as environment:
        # The home is another one while a test uses the device; what was fetched stays where it is.
        yield {**environment, "XDG_CACHE_HOME": str(device.cache_dir().parents[1])}


@pytest.fixture(scope="session")
def _standin_session(_adb_server, tmp_path_factory):
    try:
        running = device.StandIn(tmp_path_factory.mktemp("standin"), TRACE)
    except device.Unavailable as reason:
        pytest.skip(f"no stand-in device: {reason}")
    yield running
    running.close()


@pytest.fixture
def standin(_standin_session, _adb_server):
    """The stand-in device: clean, plugged in, connected; adb's environment is set for the test."""
    with device.in_environment(_adb_server):
        _standin_session.reset()
        attach(_standin_session.serial)
        yield _standin_session


def attach(serial, limit_s=10.0):
    """Connects the adb server to a network device and waits until it is usable."""
    client = adbutils.AdbClient()
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        client.connect(serial, timeout=3)
        states = {info.serial: info.state for info in client.list()}
        if states.get(serial) == "device":
            return
        if serial in states:
            client.disconnect(serial)
        time.sleep(0.05)
    raise AssertionError(f"{serial} did not become a device")
