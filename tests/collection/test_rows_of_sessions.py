"""The row of a session is in the warehouse before the next session begins: who kills a batch loses none of them."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from perfreg_assets.automation import doctor
from perfreg_assets.cli import main
from perfreg_assets.collection import batch, told_sessions
from perfreg_assets.collection.collect import CollectionResult
from perfreg_assets.collection.errors import CollectionError, CollectionRecord
from perfreg_assets.reasons import Reason
from perfreg_assets.settings import Settings
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


def collecting_by(collect, warehouse: Path) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, with a function of this file in the place of `collect`."""
    program = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import test_rows_of_sessions as here\n"
        f"here.batch.collect = here.{collect.__name__}\n"
        f"here.main({[*COLLECT, '--warehouse', str(warehouse)]!r})"
    )
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)


def test_who_collected_is_told_how_the_run_is_taken_in(tmp_path, monkeypatch):
    """The folder was named, and the page named no command for it."""
    record = replace(failed(0).record, state="collected", reason_code=None, reason=None, run_id="a run")
    result = CollectionResult(tmp_path / "inbox" / "a run", "a run", record, "time_limit", 3, 2, 0, (), {})
    monkeypatch.setattr(batch, "collect", lambda *_arguments, **_named: result)
    place = ["--warehouse", str(tmp_path / "perfreg.duckdb")]
    told = CliRunner().invoke(main, [*COLLECT[:-2], *place, "--out", str(tmp_path / "my runs")])
    assert told.stderr == f"take them in: perfreg ingest '{tmp_path}/my runs'\n"
    watched = CliRunner().invoke(main, [*COLLECT[:-2], *place])
    assert watched.stderr == f"take them in: perfreg ingest {tmp_path}/inbox (`perfreg ui` does so by itself)\n"


def test_a_sweep_that_finds_nothing_says_so(tmp_path):
    swept = CliRunner().invoke(main, ["collect", "--sweep", "--warehouse", str(tmp_path / "perfreg.duckdb")])
    assert (swept.exit_code, swept.stderr) == (0, "no collection left anything on a device\n")


def killed_in_the_third(*_arguments, repeat, **_named):
    if repeat == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    raise failed(repeat)


def test_a_kill_in_the_third_session_leaves_the_rows_of_the_first_two(tmp_path):
    warehouse = tmp_path / "perfreg.duckdb"
    ended = collecting_by(killed_in_the_third, warehouse)
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


def test_what_became_of_sessions_is_told_and_kept_where_no_row_can_be_stored(tmp_path):
    """Another command stores the rows."""
    warehouse = tmp_path / "perfreg.duckdb"
    warehouse.write_bytes(b"no database" * 999)
    ended = collecting_by(failing, warehouse)
    assert ended.returncode == 1
    assert ended.stderr.count("[trace_empty] no bytes") == 3
    warehouse.unlink()
    settings = Settings(warehouse=warehouse)
    assert told_sessions.store(Warehouse.of(settings), settings) == 3
    assert sessions(warehouse) == ["session-0", "session-1", "session-2"]
    assert told_sessions.orphans(settings) == []


def failing(*_arguments, repeat, **_named):
    raise failed(repeat)


SESSIONS = Path(__file__).parents[1] / "data" / "sessions"


def killed_before_the_row(settings, run_id, run_folder):
    """A process keeps the row, puts the run folder in its place, and is killed before the row is stored."""
    program = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import os, shutil, signal\n"
        "import test_rows_of_sessions as here\n"
        f"settings = here.Settings(warehouse=here.Path({str(settings.warehouse)!r}))\n"
        f"here.told_sessions.keep(settings, here.collected({run_id!r}), here.Path({str(run_folder)!r}))\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def collected(run_id):
    record = failed(9).record
    return CollectionRecord(
        **{**vars(record), "collection_id": f"of-{run_id}", "run_id": run_id, "state": "collected", "reason": None,
           "reason_code": None, "leftover_path": "/sdcard/x"}
    )  # fmt: skip


@pytest.fixture
def settings(tmp_path):
    return Settings(warehouse=tmp_path / "perfreg.duckdb")


def test_the_row_of_a_session_that_was_killed_before_it_was_stored_comes_with_the_next_one(settings, monkeypatch):
    folder = settings.inbox_dir / "notes-000"
    killed_before_the_row(settings, "notes-000", folder)
    shutil.copytree(SESSIONS / "notes-000", folder)

    def collect(*_arguments, repeat, **_named):
        raise failed(repeat)

    monkeypatch.setattr(batch, "collect", collect)
    CliRunner().invoke(main, [*COLLECT[:-1], "1", "--warehouse", str(settings.warehouse)])
    assert sessions(settings.warehouse) == ["of-notes-000", "session-0"]
    with Warehouse.of(settings).reading() as reader:
        row = reader.dicts("SELECT * FROM core.collections WHERE run_id = 'notes-000'")[0]
    assert (row["state"], row["leftover_path"]) == ("collected", None)  # the journal tells what is on the device
    assert told_sessions.store(Warehouse.of(settings), settings) == 0


def test_a_sweep_and_doctor_store_it_too_and_a_session_without_a_run_leaves_none(settings):
    killed_before_the_row(settings, "never", settings.inbox_dir / "never")  # killed before the rename
    killed_before_the_row(settings, "notes-001", settings.inbox_dir / "notes-001")
    shutil.copytree(SESSIONS / "notes-001", settings.inbox_dir / "notes-001")
    finding = doctor._untold(settings)
    assert (finding.state, finding.row(is_fixing=True)["state"]) == ("notice", "mended")
    assert sessions(settings.warehouse) == ["of-notes-001"]
    assert told_sessions.orphans(settings) == []
    assert doctor._untold(settings).state == "ok"


def test_the_row_of_a_living_process_and_what_cannot_be_read_stay_where_they_are(settings, caplog):
    told_sessions.keep(settings, collected("notes-003"), settings.inbox_dir)
    (kept,) = (settings.home_dir / "collections" / "told").glob("*.json")
    (kept.parent / "bad.json").write_text(json.dumps({"pid": 1}))
    assert told_sessions.orphans(settings) == []
    assert "bad.json is damaged" in caplog.text
    assert told_sessions.store(Warehouse.of(settings), settings) == 0
    assert kept.exists()
    told_sessions.store(Warehouse.of(settings), settings, [collected("notes-003")])
    assert not kept.exists()
    assert sessions(settings.warehouse) == ["of-notes-003"]


def test_the_row_of_a_failed_session_is_stored_though_it_cannot_lie_beside_the_journals(tmp_path, monkeypatch, caplog):
    def full(*_arguments, **_named):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(told_sessions, "write_whole", full)
    settings = Settings(warehouse=tmp_path / "perfreg.duckdb")
    told_sessions.store(Warehouse.of(settings), settings, [failed(0).record])
    assert sessions(settings.warehouse) == ["session-0"]
    assert "session-0 is kept by this process alone" in caplog.text
