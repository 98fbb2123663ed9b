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
    # Fetched before HOME is another one, so that the cache is the user's.
    cache = device.cache_dir()
    try:
        device.fetch_adbd(cache)
    except device.Unavailable as reason:
        pytest.skip(f"no stand-in device: {reason}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache.parents[1]))
        with device.private_adb_server(tmp_path_factory.mktemp("adb")) as environment:
            yield environment


@pytest.fixture(scope="session")
def _standin_session(_adb_server, tmp_path_factory):
    try:
        running = device.StandIn(tmp_path_factory.mktemp("standin"), TRACE)
    except device.Unavailable as reason:
        pytest.skip(f"no stand-in device: {reason}")
    yield running
    running.close()


@pytest.fixture
def standin(_standin_session):
    """The stand-in device: clean, plugged in, connected."""
    _standin_session.reset()
    attach(_standin_session.serial)
    return _standin_session


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
