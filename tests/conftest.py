"""Fixtures for all tests. The stand-in device's modules lie in `device/`, which is no package."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from perfreg_assets import garbage

garbage.look_rarely()  # thousands of tests are a heap that is searched in vain: of their collection alone, a quarter

# The same examples every time, so that a change is judged by what it changed; `--hypothesis-profile=search` looks for
# new ones. None is judged by how quick the machine is.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", _UNTIMED, derandomize=True)
settings.register_profile("search", _UNTIMED, print_blob=True)
settings.load_profile("same")

sys.path[:0] = [str(Path(__file__).parent / "device"), str(Path(__file__).parent)]

pytest_plugins = ["standin_fixtures", "exchange_fixtures", "template_fixtures"]


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores: tests of devices, daemons and browsers wait most of their time."""
    return (os.cpu_count() or 1) + 1


def pytest_configure() -> None:
    """A shell's background jobs ignore SIGINT; Dagster, in one process with tests, takes its handler of SIGTERM from
    that of SIGINT, and whatever tests start and stop would ignore both."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
