"""Fixtures for all tests. The stand-in device's modules lie in `device/`, which is no package."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "device"), str(Path(__file__).parent)]

pytest_plugins = ["standin_fixtures", "exchange_fixtures"]
