"""Dagster's event log with files kept open: the same files, events and readers as Dagster's own."""

import json
import queue
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage

from perfreg_assets.automation.event_log import EventLogStorage

QUIET = {"telemetry": {"enabled": False}}
OWN = QUIET | {"event_log_storage": {"module": "perfreg_assets.automation.event_log", "class": "EventLogStorage"}}
KEYS = dg.StaticPartitionsDefinition(["1", "2"])


@dg.asset(partitions_def=KEYS)
def made(context: dg.AssetExecutionContext) -> None:
    context.log.info("made")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder that the environment does not name: each instance has its own."""
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "another"))
    return tmp_path


@contextmanager
def instance_of(home: Path, *, is_own: bool):
    (home / "dagster.yaml").write_text(json.dumps(OWN if is_own else QUIET))
    with dg.DagsterInstance.from_config(str(home)) as instance:
        assert isinstance(instance.event_log_storage, EventLogStorage) is is_own
        yield instance


def materialise(instance, key):
    job = dg.Definitions(assets=[made], jobs=[dg.define_asset_job("make", [made])]).resolve_job_def("make")
    return job.execute_in_process(instance=instance, partition_key=key).run_id


def told(storage, run_id):
    return [(entry.dagster_event_type, entry.step_key) for entry in storage.get_logs_for_run(run_id)]


@pytest.mark.parametrize("is_own_first", [True, False])
def test_it_writes_what_dagsters_own_writes_and_either_reads_the_others(home, is_own_first):
    with instance_of(home, is_own=is_own_first) as one:
        first = materialise(one, "1")
        before = told(one.event_log_storage, first)
    with instance_of(home, is_own=not is_own_first) as other:
        assert told(other.event_log_storage, first) == before
        second = materialise(other, "2")
        assert told(other.event_log_storage, second) == before
        assert other.get_materialized_partitions(dg.AssetKey("made")) == {"1", "2"}
        assert other.get_latest_materialization_event(dg.AssetKey("made")).run_id == second


def test_other_processes_see_each_event_at_once_and_who_follows_a_run_is_told(home):
    reader = SqliteEventLogStorage(str(home / "history" / "runs"))
    with instance_of(home, is_own=True) as instance:
        run_id = materialise(instance, "1")
        followed: queue.Queue[str] = queue.Queue()
        reader.watch(run_id, None, lambda entry, _: followed.put(entry.dagster_event.message))
        for number in range(3):
            instance.report_engine_event(f"late {number}", run_id=run_id, job_name="make")
            assert reader.get_logs_for_run(run_id)[-1].dagster_event.message == f"late {number}"
        assert any("late 0" in followed.get(timeout=30) for _ in range(100))
    reader.dispose()


def test_files_are_closed_when_their_run_has_finished_and_only_a_few_are_open_at_once(home):
    folder = home / "history" / "runs"
    with instance_of(home, is_own=True) as instance:
        run_id = materialise(instance, "1")
        assert (folder / f"{run_id}.db").is_file()
        assert not (folder / f"{run_id}.db-wal").exists()
        for number in range(8):
            instance.add_run(dg.DagsterRun(job_name="make", run_id=f"run-{number}"))
            instance.report_engine_event("hello", run_id=f"run-{number}", job_name="make")
        assert sorted(path.name for path in folder.glob("*-wal")) == [
            "index.db-wal", "run-4.db-wal", "run-5.db-wal", "run-6.db-wal", "run-7.db-wal",
        ]  # fmt: skip
    assert list(folder.glob("*-wal")) == []


def test_a_deleted_run_leaves_nothing_open(home):
    with instance_of(home, is_own=True) as instance:
        run_id = materialise(instance, "1")
        instance.delete_run(run_id)
        assert told(instance.event_log_storage, run_id) == []


def test_a_place_that_is_given_is_taken(home, tmp_path):
    there = QUIET | {"event_log_storage": {**OWN["event_log_storage"], "config": {"base_dir": str(tmp_path / "x")}}}
    (home / "dagster.yaml").write_text(json.dumps(there))
    with dg.DagsterInstance.from_config(str(home)) as instance:
        run_id = materialise(instance, "1")
    assert (tmp_path / "x" / f"{run_id}.db").is_file()


def test_a_table_that_is_there_is_not_looked_for_again(home, monkeypatch):
    asked = []
    has_table = SqliteEventLogStorage.has_table
    monkeypatch.setattr(
        SqliteEventLogStorage, "has_table", lambda self, name: asked.append(name) or has_table(self, name)
    )
    with instance_of(home, is_own=True) as instance:
        for key in ("1", "2", "3"):
            instance.add_dynamic_partitions("builds", [key])
            assert instance.has_dynamic_partition("builds", key)
        assert not instance.event_log_storage.has_table("never_made")
        assert not instance.event_log_storage.has_table("never_made")
    assert asked == ["dynamic_partitions", "never_made", "never_made"]


def test_a_partition_that_was_just_there_is_not_looked_for_again_until_it_is_deleted(home, monkeypatch):
    asked = []
    has = SqliteEventLogStorage.has_dynamic_partition
    monkeypatch.setattr(
        SqliteEventLogStorage,
        "has_dynamic_partition",
        lambda self, name, key: asked.append(key) or has(self, name, key),
    )
    clock = [1000.0]
    monkeypatch.setattr("perfreg_assets.automation.event_log.time", SimpleNamespace(monotonic=lambda: clock[0]))
    with instance_of(home, is_own=True) as instance:
        instance.add_dynamic_partitions("builds", ["1", "2"])
        for key in ("1", "1", "2", "1"):
            assert instance.has_dynamic_partition("builds", key)
        assert not instance.has_dynamic_partition("other builds", "1")
        assert asked == ["1", "2", "1"]
        instance.delete_dynamic_partition("builds", "1")
        assert not instance.has_dynamic_partition("builds", "1")
        instance.add_dynamic_partitions("builds", ["1"])  # what is not there is always looked for
        assert instance.has_dynamic_partition("builds", "1")
        with instance_of(home, is_own=True) as other:
            other.delete_dynamic_partition("builds", "2")
        clock[0] += 2
        assert not instance.has_dynamic_partition("builds", "2")  # another process deleted it
