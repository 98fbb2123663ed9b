"""Dagster's home is whole, whoever was killed or came at the same time while it was created."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from dagster import DagsterInstance

from perfreg_assets.automation.home import prepare_home
from perfreg_assets.automation.home_storage import DATABASES, make_whole
from perfreg_assets.partitions import DIMENSION
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse

sys.path.insert(0, str(Path(__file__).parents[1] / "warehouse"))

import sample_warehouse

CREATE = """
import sys
from pathlib import Path
import dagster
from perfreg_assets.automation.home import prepare_home
from perfreg_assets.settings import Settings
print("ready", flush=True)
sys.stdin.readline()
home = prepare_home(Settings(warehouse=Path(sys.argv[1]) / "perfreg.duckdb"))
print(sorted(dagster.DagsterInstance.from_config(str(home)).get_dynamic_partitions("apps")), flush=True)
"""


def starting(folder: Path) -> subprocess.Popen[str]:
    """A process that will create the home as soon as it is told to."""
    process = subprocess.Popen(
        [sys.executable, "-c", CREATE, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def begin(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.setenv("DAGSTER_HOME", "")  # prepare_home sets it
    return Settings(warehouse=tmp_path / "perfreg.duckdb")


def test_a_home_below_a_file_is_refused(settings):
    settings.home_dir.parent.mkdir(parents=True, exist_ok=True)
    settings.home_dir.touch()
    with pytest.raises(Rejected, match="Not a directory") as caught:
        prepare_home(settings)
    assert caught.value.reason is Reason.FOLDER_UNWRITABLE
    assert str(settings.dagster_home) in caught.value.detail


def test_a_home_on_a_read_only_disk_is_refused(settings, monkeypatch):
    """There SQLite cannot even read: it makes files beside."""
    home = prepare_home(settings)

    def no_file(*_given, **_named):
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(sqlite3, "connect", no_file)
    with pytest.raises(sqlite3.OperationalError):  # it may be written to: something else is the matter
        prepare_home(settings)
    monkeypatch.setattr(os, "access", lambda *_given: False)
    with pytest.raises(Rejected, match="read-only") as caught:
        prepare_home(settings)
    assert caught.value.reason is Reason.FOLDER_UNWRITABLE
    assert caught.value.detail == f"{home / 'history'} (unable to open database file)"


def works(settings: Settings) -> None:
    home = prepare_home(settings)
    with DagsterInstance.from_config(str(home)) as instance:
        instance.add_dynamic_partitions("apps", ["one"])
        assert instance.get_dynamic_partitions("apps") == ["one"]
        assert instance.get_runs_count() == 0
        assert not instance.all_instigator_state()
    assert not list(home.glob(".creating-*"))


def test_a_new_home_is_created_once(settings):
    works(settings)
    assert make_whole(settings.dagster_home, timeout_s=5) == []


@pytest.mark.parametrize("name", DATABASES)
@pytest.mark.parametrize("tables", [(), ("event_logs",), ("alembic_version",)])
def test_a_half_made_file_is_made_whole_and_the_others_stay(settings, name, tables):
    home = prepare_home(settings)
    kept = {other: (home / other).stat().st_ino for other in DATABASES if other != name}
    (home / name).unlink()
    with closing(sqlite3.connect(home / name)) as connection:
        for table in tables:
            connection.execute(f"CREATE TABLE {table} (version_num VARCHAR)")
        connection.commit()
    works(settings)
    assert {other: (home / other).stat().st_ino for other in kept} == kept


def test_records_in_another_database_are_none_of_its_business(settings):
    settings.dagster_home.mkdir(parents=True)
    (settings.dagster_home / "dagster.yaml").write_text("storage: {postgres: {postgres_url: nowhere}}\n")
    prepare_home(settings)
    assert not (settings.dagster_home / "history").exists()


def test_two_first_commands_at_once_make_one_home(settings):
    both = [starting(settings.warehouse.parent) for _ in range(2)]
    for process in both:
        begin(process)
    assert [process.communicate(timeout=300)[0] for process in both] == ["[]\n", "[]\n"]
    assert [process.returncode for process in both] == [0, 0]


def test_killed_at_any_moment_the_next_command_finds_or_makes_a_whole_home(settings):
    moments = random.Random(7)
    for _ in range(4):
        process = starting(settings.warehouse.parent)
        begin(process)
        time.sleep(moments.uniform(0, 1))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    works(settings)


def test_a_home_that_was_lost_knows_the_warehouses_versions_in_their_order(settings):
    sample_warehouse.build(settings.warehouse, runs=6)
    with Warehouse.of(settings).reading() as reader:
        first = "SELECT partition_key FROM core.runs WHERE NOT is_quarantined GROUP BY ALL ORDER BY min(started_at)"
        keys = [key for (key,) in reader.rows(first)]
    assert len(keys) > 1
    for _ in range(2):
        home = prepare_home(settings)
        with DagsterInstance.from_config(str(home)) as instance:
            assert list(instance.get_dynamic_partitions(DIMENSION)) == keys
        shutil.rmtree(home)
