"""A real Dagster webserver and daemon on a project of its own, as `perfreg ui` starts them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfreg_assets.assets.outstanding import outstanding
from perfreg_assets.reasons import Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse

LIMIT_S = 900.0
ANYWAY_S = 10.0
"""So often a condition is looked at although nothing was published: it may hang on the time."""


class Ui:
    """`perfreg ui` in a folder; `wait_for` looks at the warehouse whenever it was published."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.settings = Settings(warehouse=folder / "perfreg.duckdb")
        self.log = folder / "ui.log"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        command = [sys.executable, "-m", "perfreg_assets.cli", "ui", "--port", str(self.port)]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--warehouse", str(self.settings.warehouse)],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PERFREG_INBOX_SETTLE_S": "1", **variables},
                cwd=folder,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Empty while there is no warehouse yet."""
        warehouse = Warehouse(self.settings.warehouse, lock_timeout_s=30)
        try:
            with warehouse.reading() as reader:
                return reader.dicts(sql)
        except Rejected:
            if warehouse.published.exists():
                raise
            return []

    def due(self) -> list[str]:
        """What `perfreg status` would list."""
        with Warehouse(self.settings.warehouse, lock_timeout_s=30).reading() as reader:
            return outstanding(reader, self.settings).keys

    def wait_for(self, what: str, sql: str, holds: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
        deadline = time.monotonic() + LIMIT_S
        rows: list[dict[str, Any]] = []
        looked_at, latest = None, float("-inf")
        while time.monotonic() < deadline:
            published = self._published()
            # Each look takes from the processes that are waited for: of six minutes it would be half a minute.
            if published != looked_at or time.monotonic() - latest >= ANYWAY_S:
                rows = self.rows(sql)
                if holds(rows):
                    return rows
                looked_at, latest = published, time.monotonic()
            assert self._process.poll() is None, self.log.read_text(errors="replace")[-4000:]
            time.sleep(1.0)
        raise AssertionError(
            f"{what} did not come about; last seen {rows}\n{self.log.read_text(errors='replace')[-6000:]}"
        )

    def _published(self) -> tuple[int, int] | None:
        """Another one after each publishing; None before the first."""
        try:
            found = Warehouse(self.settings.warehouse, lock_timeout_s=30).published.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self._process.send_signal(number)
        return self._process.wait(60)


@pytest.fixture
def ui(tmp_path):
    running: list[Ui] = []

    def start(**variables: str) -> Ui:
        running.append(Ui(tmp_path, **variables))
        return running[-1]

    yield start
    for one in running:
        one.stop()
