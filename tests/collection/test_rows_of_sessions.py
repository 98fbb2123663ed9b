"""The row of a session is in the warehouse before the next session begins: who kills a batch loses none of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from click.testing import CliRunner

from perfreg_assets.cli import main
from perfreg_assets.collection import batch
from perfreg_assets.collection.errors import CollectionError, CollectionRecord
from perfreg_assets.reasons import Reason
from perfreg_assets.warehouse.connection import Warehouse

NOW = datetime(2026, 1, 1, tzinfo=UTC)
COLLECT = ["collect", "--app", "com.rig.notes", "--repeats", "3"]


def failed(number):
    record = CollectionRecord(
        collection_id=f"session-{number}", run_id=None, app="com.rig.notes", version_name="1", build_hash=None,
        attempt=0, device_serial=None, state="failed", reason_code="trace_empty", reason="no bytes", trace_bytes=None,
        duration_s=None, bytes_per_minute=None, leftover_path=None, started_at=NOW, ended_at=NOW,
    )  # fmt: skip
    return CollectionError(Reason.TRACE_EMPTY, "no bytes", record=record)


def sessions(warehouse):
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        return [name for (name,) in reader.rows("SELECT collection_id FROM marts.collections ORDER BY ALL")]


def killed_in_the_third(*_arguments, repeat, **_named):
    if repeat == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    raise failed(repeat)


def test_a_kill_in_the_third_session_leaves_the_rows_of_the_first_two(tmp_path):
    warehouse = tmp_path / "perfreg.duckdb"
    program = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import test_rows_of_sessions as here\n"
        "here.batch.collect = here.killed_in_the_third\n"
        f"here.main({[*COLLECT, '--warehouse', str(warehouse)]!r})"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert sessions(warehouse) == ["session-0", "session-1"]


def test_rows_wait_while_the_warehouse_is_locked(tmp_path, monkeypatch):
    monkeypatch.setenv("PERFREG_LOCK_TIMEOUT_S", "0.1")
    warehouse = Warehouse(tmp_path / "perfreg.duckdb", lock_timeout_s=5)

    def collect(*_arguments, repeat, **_named):
        raise failed(repeat)

    monkeypatch.setattr(batch, "collect", collect)
    locked = warehouse.writing()
    locked.__enter__()
    told = CliRunner().invoke(main, [*COLLECT[:-1], "2", "--warehouse", str(warehouse.path)])
    locked.__exit__(None, None, None)
    assert told.exit_code == 1
    assert "tried again after the next" in told.stderr
    assert "is being written by" in told.stderr.splitlines()[-1]

    def unlocked_for_the_second(*_arguments, repeat, **_named):
        if repeat == 1:
            locked.__exit__(None, None, None)
        raise failed(repeat)

    monkeypatch.setattr(batch, "collect", unlocked_for_the_second)
    locked = warehouse.writing()
    locked.__enter__()
    CliRunner().invoke(main, [*COLLECT[:-1], "2", "--warehouse", str(warehouse.path)])
    assert sessions(warehouse.path) == ["session-0", "session-1"]
