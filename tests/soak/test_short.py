"""The short form of tests/soak/run.py: broken input, kills at named points, a command killed and run again."""

from __future__ import annotations

import functools
import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import hostile
import kills
import points
import starter

from perfreg_assets.warehouse.connection import Warehouse

WRITE = """
import sys
from pathlib import Path
from perfreg_assets.warehouse.connection import Warehouse
with Warehouse(Path(sys.argv[1]), lock_timeout_s=5).writing() as writer:
    writer.data.write("series/one", b"a value")
    writer.execute(
        "INSERT INTO core.runs (run_id, folder_name, content_hash, is_quarantined, reason_code, reason, registered_at) "
        "VALUES ($1, $1, '', true, 'trace_missing', 'no trace', now())", [sys.argv[2]])
"""
COMMITTED = ("after a commit", "own file written, not published", "before a rename of publishing")
PUBLISHED = ("after a rename of publishing", "published, marker there")
LOST = ("lock taken", "warehouse opened", "value not written", "value written, row not", "before a commit")


@pytest.mark.parametrize("kind", hostile.KINDS)
def test_broken_input_is_refused_by_a_reason_or_taken(kind, tmp_path):
    (found,) = hostile.run(tmp_path, cases=25, seed=15, kinds=(kind,))
    assert found.count == 25
    assert found.faults == []
    assert set(found.outcomes) - {"taken"}, "nothing of it was refused"


def test_a_fault_would_be_told(tmp_path, monkeypatch):
    def broken(work):
        return lambda chance: [][chance.randrange(3)]

    monkeypatch.setitem(hostile.KINDS, "made up", broken)
    (found,) = hostile.run(tmp_path, cases=2, seed=1, kinds=("made up",))
    assert [fault.partition(": ")[0] for fault in found.faults] == ["made up:1:0", "made up:1:1"]


@pytest.mark.parametrize("name", points._FUNCTIONS)
def test_a_named_point_is_a_function_of_the_project(name):
    module, path, _ = points._FUNCTIONS[name]
    assert callable(functools.reduce(getattr, path.split("."), importlib.import_module(module)))


def write(warehouse: Path, folder: Path, run_id: str) -> int:
    """The exit status of a process of its own that may die at a named point."""
    path = os.pathsep.join([str(Path(points.__file__).with_name("site")), str(kills.ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, points.VARIABLE: str(folder)}
    command = [sys.executable, "-c", WRITE, str(warehouse), run_id]
    return subprocess.run(command, env=environment, check=False, timeout=60).returncode


def runs(warehouse: Path) -> list[str]:
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        return [run_id for (run_id,) in reader.rows("SELECT run_id FROM core.runs ORDER BY run_id")]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("written")
    assert write(folder / "perfreg.duckdb", folder, "one") == 0
    return folder


@pytest.mark.parametrize("name", [*LOST, *COMMITTED, *PUBLISHED])
def test_a_process_dies_at_the_point_and_the_next_goes_on(written, tmp_path, name):
    kills.copied(written, tmp_path / "place")
    warehouse = tmp_path / "place" / "perfreg.duckdb"
    points.arm(tmp_path, name, nth=2 if "a commit" in name else 1)  # opening ends a transaction of its own
    assert write(warehouse, tmp_path, "two") == -signal.SIGKILL
    assert points.disarm(tmp_path)
    assert runs(warehouse) == (["one", "two"] if name in PUBLISHED else ["one"])
    assert write(warehouse, tmp_path, "three") == 0
    assert runs(warehouse) == (["one", "three"] if name in LOST else ["one", "three", "two"])


def test_a_point_that_nobody_comes_to_kills_nobody_and_is_told(written, tmp_path):
    kills.copied(written, tmp_path / "place")
    points.arm(tmp_path, "before a commit", nth=99)
    with points.counting(tmp_path) as met:
        assert write(tmp_path / "place" / "perfreg.duckdb", tmp_path, "two") == 0
    assert not points.disarm(tmp_path)
    assert met["before a commit"] == met["after a commit"] == 2


def test_a_point_for_run_workers_kills_those_only_and_is_counted(written, tmp_path):
    """The process that writes here is no command, server or daemon: that is what a run worker is known by."""
    kills.copied(written, tmp_path / "place")
    warehouse = tmp_path / "place" / "perfreg.duckdb"
    points.note_workers(tmp_path)
    points.arm(tmp_path, "before a commit", kind="daemon")
    assert write(warehouse, tmp_path, "two") == 0
    assert "before a commit" in points.met_by_workers(tmp_path)
    points.arm(tmp_path, "before a commit", kind=points.WORKER)
    assert write(warehouse, tmp_path, "three") == -signal.SIGKILL
    assert points.deaths(tmp_path) == {("before a commit", points.WORKER): 1}
    lines = ("python -m dagster._daemon run", "python -m perfreg_assets.cli ui", "python -c spawn_main() --fork")
    assert [points.kind_of(line) for line in lines] == ["daemon", "command", points.WORKER]


def test_commands_are_forked_off_a_process_of_one_thread(tmp_path):
    """A fork takes no other thread with it, and what one of them had locked stays locked for ever."""
    with starter.starter() as started:
        threads = [
            path.read_text().strip() for path in Path(f"/proc/{started._process.pid}/task").glob("*/comm")
        ]  # of libraries as well, of which Python knows nothing
        assert len(threads) == 1, threads
        assert started.run(["--version"], folder=tmp_path) == 0
        assert (tmp_path / "log").read_text().startswith("perfreg")


def test_a_real_command_is_killed_and_run_again(tmp_path, monkeypatch):
    command = kills.Command(("settings", "set", "history_minimum", "3"), kills.NOTHING)
    monkeypatch.setattr(kills, "COMMANDS", {"settings": command})
    (found,) = kills.run(tmp_path, names=("settings",), kills=2, seed=15, kills_per_round=2, tell=lambda _: None)
    assert found.faults == []
    assert found.kills >= 2
    assert found.points


def test_marts_that_differ_would_be_told(tmp_path, monkeypatch):
    command = kills.Command(("settings", "set", "history_minimum", "3"), kills.NOTHING)
    monkeypatch.setattr(kills, "COMMANDS", {"settings": command})
    monkeypatch.setattr(kills, "marts", lambda _: {"runs": [(os.urandom(8),)]})
    (found,) = kills.run(tmp_path, names=("settings",), kills=1, seed=15, kills_per_round=1, tell=lambda _: None)
    assert all("other marts: runs" in fault for fault in found.faults)
    assert found.faults
