"""The file that a job writes to stays open from step to step, and under no lock for longer than others can wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import duckdb
import pytest

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import holding
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.holding import Holdings
from perfreg_assets.warehouse.lock import file_lock
from perfreg_assets.warehouse.written_pages import Opened
from tests.warehouse.forbidden import FORBIDDEN
from tests.warehouse.noted import note, notes


def test_a_lock_where_nothing_can_be_written_names_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(Rejected, match="check its permissions") as caught,
        file_lock(tmp_path / "file" / "a.lock", timeout_s=0, what="it"),
    ):
        pass
    assert caught.value.reason is Reason.FOLDER_UNWRITABLE
    assert caught.value.detail.startswith(str(tmp_path / "file"))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """The files that were opened to be written to; what is held ends with the test and not by itself before."""
    found: list[Path] = []
    begin = Warehouse._migrated

    def counted(self: Warehouse) -> duckdb.DuckDBPyConnection:
        found.append(self.path)
        return begin(self)

    held = Holdings()
    monkeypatch.setattr(Warehouse, "_migrated", counted)
    monkeypatch.setattr("perfreg_assets.warehouse.connection.HELD", held)
    monkeypatch.setattr(holding, "IDLE_S", 3600)
    monkeypatch.setattr(holding, "MOST_S", 3600)
    yield found
    held.end_all()


@pytest.fixture
def job(tmp_path: Path, opened: list[Path]) -> Warehouse:
    """As the steps of a job see a warehouse: what they wrote is not published yet."""
    path = tmp_path / "it's [a] job.duckdb"
    note(Warehouse(path, lock_timeout_s=1), "one")
    opened.clear()
    warehouse = Warehouse(path, lock_timeout_s=1, publish_every_s=3600)
    note(warehouse, "two")
    assert warehouse.has_unpublished
    return warehouse


def is_free(warehouse: Warehouse, *, within_s: float = 0.0) -> bool:
    try:
        with (
            file_lock(warehouse.lock_file, timeout_s=within_s, what="it"),
            duckdb.connect(str(warehouse.path)) as other,
        ):
            other.execute("FROM core.settings")
    except Rejected as error:
        if error.reason is not Reason.WAREHOUSE_LOCKED:
            raise
        return False
    return True


def test_the_next_step_does_not_write_to_a_file_that_was_taken_away(job: Warehouse, opened: list[Path]) -> None:
    job.path.unlink()
    note(job, "three")
    assert job.publish()
    assert notes(job) == ["one", "three"]  # brought back as published
    assert opened == [job.path] * 2


def test_steps_read_and_write_through_one_open_file(job: Warehouse, opened: list[Path]) -> None:
    assert notes(job) == ["one", "two"]
    note(job, "three")
    another = Warehouse(job.path, lock_timeout_s=1, publish_every_s=3600)  # each step has its own
    assert notes(another) == ["one", "two", "three"]
    with another.reading() as reader:
        assert reader.value("SELECT current_setting('TimeZone')") == "UTC"
        before = reader.state
    note(another, "four")
    with job.reading() as reader:
        assert before != reader.state is not None
    assert len(opened) == 1
    assert not is_free(job)


@pytest.mark.parametrize("statement", [*FORBIDDEN, "DELETE FROM core.settings", "DROP TABLE core.settings"])
def test_a_reading_reaches_no_other_files_and_changes_nothing(job: Warehouse, statement: str) -> None:
    for _ in range(2):
        with pytest.raises(duckdb.Error), job.reading() as reader:
            reader.rows(statement)
    with job.reading() as reader, pytest.raises(duckdb.Error):
        reader.rows(statement)
    assert notes(job) == ["one", "two"]


def test_a_step_that_fails_is_rolled_back_and_the_next_opens_the_file_anew(job: Warehouse, opened: list[Path]) -> None:
    with pytest.raises(ZeroDivisionError), job.writing() as writer:  # noqa: PT012
        writer.execute("UPDATE core.settings SET value = 'lost' WHERE name = 'note'")
        raise ZeroDivisionError
    assert is_free(job)
    assert notes(job) == ["one", "two"]
    with pytest.raises(ZeroDivisionError), job.reading():
        raise ZeroDivisionError
    assert is_free(job)
    note(job, "three")
    assert notes(job) == ["one", "two", "three"]
    assert len(opened) == 3


def test_publishing_ends_it(job: Warehouse) -> None:
    assert job.publish()
    assert is_free(job)
    assert notes(Warehouse(job.path, lock_timeout_s=1)) == ["one", "two"]


def test_it_is_free_for_others_when_no_step_came_for_a_while(
    job: Warehouse, monkeypatch: pytest.MonkeyPatch, opened: list[Path]
) -> None:
    monkeypatch.setattr(holding, "IDLE_S", 0.05)
    note(job, "three")
    assert is_free(job, within_s=10)
    assert notes(job) == ["one", "two", "three"]
    assert len(opened) == 2


def test_a_job_that_never_rests_lets_others_in(job: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "MOST_S", 0.2)
    found: list[float] = []

    def wait() -> None:
        begin = time.monotonic()
        with file_lock(job.lock_file, timeout_s=30, what="it"):
            found.append(time.monotonic() - begin)

    waiting = threading.Thread(target=wait)
    waiting.start()
    deadline = time.monotonic() + 20
    while not found and time.monotonic() < deadline:
        with Warehouse(job.path, lock_timeout_s=30, publish_every_s=3600).reading():
            pass
    waiting.join(30)
    assert found, "in 20 s of steps without a pause nobody else had a turn"


def test_another_thread_that_waits_is_not_kept_waiting(job: Warehouse) -> None:
    job = Warehouse(job.path, lock_timeout_s=30, publish_every_s=3600)
    with job.writing():
        waiting = threading.Thread(target=note, args=(job, "of the thread"))
        waiting.start()
        time.sleep(0.2)
    waiting.join(10)
    assert not waiting.is_alive()
    assert notes(job) == ["one", "two", "of the thread"]


def test_others_of_the_same_process_do_not_wait_for_a_step(job: Warehouse) -> None:
    impatient = Warehouse(job.path, lock_timeout_s=0)
    note(impatient, "three")
    assert notes(impatient) == ["one", "two", "three"]


def test_a_fork_makes_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held, entered = Holdings(), []

    @contextmanager
    def lock() -> Iterator[None]:
        entered.append(os.getpid())
        yield

    monkeypatch.setattr(holding, "IDLE_S", 3600)
    for pid in (1, 1, 2):
        monkeypatch.setattr(holding.os, "getpid", lambda pid=pid: pid)
        with held.one_for(str(tmp_path / "w"), "", lock) as one:
            one.connection(lambda pid=pid: Opened(tmp_path / f"{pid}.duckdb", {}))
    held.end_all()
    assert entered == [1, 2]


def test_one_that_opened_nothing_is_not_kept() -> None:
    held = Holdings()
    with held.one_for("w", "", nullcontext) as first:
        pass
    with held.one_for("w", "", nullcontext) as second:
        assert second is not first


_KILLED = """
import sys, time
from pathlib import Path
from perfreg_assets.warehouse import holding
from perfreg_assets.warehouse.connection import Warehouse
from tests.warehouse.noted import note
holding.IDLE_S = 3600
note(Warehouse(Path(sys.argv[1]), lock_timeout_s=1, publish_every_s=3600), "of the killed")
print("held", flush=True)
time.sleep(3600)
"""


def test_what_was_committed_outlives_a_kill_of_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    warehouse = Warehouse(path, lock_timeout_s=10)
    note(warehouse, "one")
    with subprocess.Popen([sys.executable, "-c", _KILLED, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        process.send_signal(signal.SIGKILL)
    note(warehouse, "after")
    assert notes(warehouse) == ["one", "of the killed", "after"]
