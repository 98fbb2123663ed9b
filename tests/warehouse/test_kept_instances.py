"""What the steps of a job read the published file with is made once: it sees every state, holds no file in between."""

from __future__ import annotations

import threading
from pathlib import Path

import duckdb
import pytest

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import kept_instances
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.kept_instances import MOST_KEPT, Instance, KeptInstances
from tests.warehouse.forbidden import FORBIDDEN
from tests.warehouse.noted import note, notes


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Instance]:
    """The instances that were made, by a process that has none yet."""
    found: list[Instance] = []
    begin = Instance.__init__

    def counted(self: Instance, config: kept_instances.Config = kept_instances.NO_EXTENSIONS) -> None:
        begin(self, config)
        found.append(self)

    monkeypatch.setattr(Instance, "__init__", counted)
    monkeypatch.setattr("perfreg_assets.warehouse.connection.KEPT", KeptInstances())
    return found


@pytest.fixture
def job(tmp_path: Path, made: list[Instance]) -> Warehouse:
    """As the steps of a job see a warehouse that they have not written to yet."""
    warehouse = Warehouse(tmp_path / "it's [a] job.duckdb", lock_timeout_s=1, publish_every_s=3600)
    note(warehouse, "one")
    assert not warehouse.has_unpublished
    return warehouse


def test_every_reading_sees_the_latest_state_with_one_instance(job: Warehouse, made: list[Instance]) -> None:
    for text in ("two", "three"):
        assert notes(job)[-1] != text
        note(job, text)
        job.publish()
    assert notes(job) == ["one", "two", "three"]
    with job.reading() as reader:
        assert reader.value("SELECT current_setting('TimeZone')") == "UTC"
    assert len(made) == 1


def test_a_job_asks_on_one_thread_and_who_reads_or_writes_once_on_all(job: Warehouse) -> None:
    threads = "SELECT current_setting('threads')"
    with job.reading() as reader:
        assert reader.value(threads) == 1
    with job.writing() as writer:
        assert writer.value(threads) == 1
    job.publish()
    alone = Warehouse(job.path, lock_timeout_s=1)
    with duckdb.connect() as usual, alone.reading() as reader, alone.writing() as writer:
        [(all_there_are,)] = usual.execute(threads).fetchall()
        assert reader.value(threads) == writer.value(threads) == all_there_are


def test_between_two_readings_the_file_is_free_for_other_programs(job: Warehouse) -> None:
    notes(job)
    with duckdb.connect(str(job.published)) as other:
        other.execute("UPDATE core.settings SET value = 'by another' WHERE name = 'note'")
    assert notes(job) == ["by another"]


@pytest.mark.parametrize("statement", [*FORBIDDEN, "SET allowed_paths = ['/etc/passwd']", "DELETE FROM core.settings"])
def test_it_reaches_no_other_files_and_changes_nothing(job: Warehouse, made: list[Instance], statement: str) -> None:
    for _ in range(2):  # a new one, and one that was kept
        with job.reading() as reader, pytest.raises(duckdb.Error):
            reader.rows(statement)
    assert len(made) == 1
    assert notes(job) == ["one"]


def test_one_that_something_went_wrong_with_is_not_used_again(job: Warehouse, made: list[Instance]) -> None:
    with pytest.raises(ZeroDivisionError), job.reading():
        raise ZeroDivisionError
    assert notes(job) == ["one"]
    assert len(made) == 2
    assert not made[0].spill.exists()


def test_what_cannot_be_shut_in_leaves_nothing(tmp_path: Path, made: list[Instance]) -> None:
    def shut_in(_: duckdb.DuckDBPyConnection) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), KeptInstances().one_for(tmp_path / "w.duckdb", str(tmp_path), shut_in):
        pass
    assert [one.spill.exists() for one in made] == [False]


def test_a_file_that_is_no_warehouse_is_refused_and_the_next_reading_is_none_the_worse(job: Warehouse) -> None:
    notes(job)
    whole = job.published.read_bytes()
    job.published.write_bytes(b"no database" * 1000)
    with pytest.raises(Rejected) as refused, job.reading():
        pass
    assert refused.value.reason is Reason.WAREHOUSE_UNREADABLE
    job.published.write_bytes(whole)
    assert notes(job) == ["one"]


def test_readings_beside_each_other_have_an_instance_each(tmp_path: Path, made: list[Instance]) -> None:
    kept = KeptInstances()
    path = tmp_path / "w.duckdb"
    duckdb.connect(str(path)).close()
    together = threading.Barrier(2, timeout=30)
    seen: list[Instance] = []

    def read() -> None:
        with kept.one_for(path, str(tmp_path), lambda made: None) as instance:
            instance.attach(path)
            together.wait()
            seen.append(instance)
            together.wait()

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len({id(one) for one in seen}) == len(made) == 2
    with kept.one_for(path, str(tmp_path), lambda made: None) as instance:  # one of the two waited
        instance.attach(path)
    assert len(made) == 2


def test_few_are_kept_and_the_longest_unused_goes_first(tmp_path: Path, made: list[Instance]) -> None:
    kept = KeptInstances()
    paths = [tmp_path / f"{place}.duckdb" for place in range(MOST_KEPT + 1)]
    for path in (*paths, *paths[1:]):
        duckdb.connect(str(path)).close()
        with kept.one_for(path, str(tmp_path), lambda made: None) as instance:
            instance.attach(path)
    assert [one.spill.exists() for one in made] == [False] + [True] * MOST_KEPT


def test_a_fork_makes_its_own(job: Warehouse, made: list[Instance], monkeypatch: pytest.MonkeyPatch) -> None:
    notes(job)
    monkeypatch.setattr(kept_instances.os, "getpid", lambda: -1)
    assert notes(job) == ["one"]
    assert len(made) == 2
