"""A command that fails for want of room names the disk that is full, whatever broke first because of it."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import sys
from collections import namedtuple

import pytest
from dagster._utils.error import serializable_error_info_from_exc_info

from perfreg_assets import terminal
from perfreg_assets.assets.outstanding import Outstanding
from perfreg_assets.automation.home import prepare_home
from perfreg_assets.automation.materialise import Materialised, _innermost
from perfreg_assets.automation.upkeep import Upkeep
from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.cli.disk import disk_full
from perfreg_assets.cli.ingesting import take_in
from perfreg_assets.cli.upkeep import tell_upkeep
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """A project whose home lies on a full disk of its own."""
    home = tmp_path / "elsewhere" / "home"
    home.mkdir(parents=True)
    real = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", lambda at: Usage(9, 9, 0) if "elsewhere" in str(at) else real(at))
    return Settings(warehouse=tmp_path / "perfreg.duckdb", home=home)


def chained():
    try:
        try:
            raise sqlite3.OperationalError("database or disk is full")
        except sqlite3.OperationalError as error:
            raise RuntimeError("a step failed") from error
    except RuntimeError as error:
        return error


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        chained(),
        Rejected(Reason.WAREHOUSE_MISSING, "perfreg.read.duckdb does not exist"),
        Rejected(Reason.WAREHOUSE_UNPUBLISHED, "perfreg.read.duckdb does not exist"),
    ],
)
def test_the_full_disk_is_named(settings, error):
    told = disk_full(error, settings)
    assert told.startswith(f"no room in the home {settings.home_dir}")
    assert "free some space and run the same command again" in told


@pytest.mark.parametrize("error", [ValueError("no"), Rejected(Reason.WAREHOUSE_LOCKED, "perfreg.duckdb")])
def test_other_errors_speak_for_themselves(settings, error):
    assert disk_full(error, settings) is None


def test_a_missing_warehouse_is_missing_where_there_is_room(tmp_path):
    error = Rejected(Reason.WAREHOUSE_MISSING, "perfreg.read.duckdb does not exist")
    assert disk_full(error, Settings(warehouse=tmp_path / "perfreg.duckdb")) is None


def test_a_home_without_room_is_refused_before_anything_is_done(settings, monkeypatch):
    monkeypatch.setenv("DAGSTER_HOME", "")
    with pytest.raises(Rejected, match=r"8 MB, 0\.0 MB are free") as caught:
        prepare_home(settings)
    assert caught.value.reason is Reason.WAREHOUSE_DISK_FULL
    assert list(settings.dagster_home.iterdir()) == []


def test_what_is_missing_and_how_to_make_it_is_not_said_of_a_full_disk(settings):
    told = disk_full(Rejected(Reason.WAREHOUSE_MISSING, "perfreg.read.duckdb does not exist"), settings)
    assert "perfreg ingest" not in told


def serialised(error):
    """As Dagster keeps the error of a step."""
    try:
        try:
            raise error
        except Exception as cause:
            raise RuntimeError("Error occurred while executing op") from cause
    except RuntimeError:
        return serializable_error_info_from_exc_info(sys.exc_info())


def test_steps_that_had_no_room_end_in_one_sentence(settings, capsys):
    refused = Rejected(Reason.WAREHOUSE_DISK_FULL, "writing perfreg.duckdb needs 5 MB, 3 MB are free")
    done = Materialised(failures=[_innermost(serialised(refused))] * 2)
    with pytest.raises(SystemExit):
        tell_upkeep(done, Upkeep(left=Outstanding((), {"notes-021": "com.rig.notes@1.5.0"})), settings)
    assert capsys.readouterr().err == f"perfreg: {refused}\n"


def test_a_refused_step_is_told_by_what_to_do_and_not_by_what_it_was_refused_for():
    refused = Rejected(Reason.WAREHOUSE_UNREADABLE, "perfreg.duckdb (IO Error: not enough bytes)")
    refused.__cause__ = OSError("IO Error: not enough bytes")
    assert _innermost(serialised(refused)) == str(refused)


@pytest.mark.parametrize(
    "failure", ["OSError: [Errno 28] No space left on device", "OperationalError: database or disk is full"]
)
def test_a_step_that_met_a_full_disk_in_other_words_says_what_to_do(settings, capsys, failure):
    with pytest.raises(SystemExit):
        tell_upkeep(Materialised(failures=[failure, "ValueError: after it"]), Upkeep(), settings)
    told = capsys.readouterr().err
    assert told.startswith(f"perfreg: no room in the home {settings.home_dir} ({failure}): ")
    assert "free some space" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("upkeep", "is_all_taken_in", "is_made_up_for"),
    [
        (Upkeep(), True, True),
        (Upkeep(), False, False),
        (Upkeep(elsewhere=("com.rig.notes@1.5.0",)), True, False),
        (Upkeep(left=Outstanding((), {"notes-021": "com.rig.notes@1.5.0"})), True, False),
    ],
)
def test_other_failures_are_told_once_each_and_whether_anything_is_left_of_them(
    settings, capsys, upkeep, is_all_taken_in, is_made_up_for
):
    with pytest.raises(SystemExit):
        tell_upkeep(Materialised(failures=["one", "two", "one"]), upkeep, settings, is_all_taken_in=is_all_taken_in)
    told = capsys.readouterr().err
    assert (told.count("perfreg: one\n"), told.count("perfreg: two\n")) == (1, 1)
    assert ("nothing is due any more" in told) is is_made_up_for


def test_a_disk_without_room_for_the_first_write_is_named_though_there_is_room_again(tmp_path, monkeypatch, capsys):
    """What was half written is deleted again: by the time that the command ends, the disk is not full, and that there
    is no warehouse says nothing."""

    def no_room(path, **_given):
        raise Rejected(Reason.WAREHOUSE_DISK_FULL, f"writing {path}")

    monkeypatch.setattr("perfreg_assets.warehouse.connection.require_free_space", no_room)
    # On a slow machine, or one without compiled kernels, these say what they are at.
    monkeypatch.setattr("perfreg_assets.methods.compiled.ensure_compiled", lambda: None)
    monkeypatch.setattr(terminal, "LINE_EVERY_S", 3600.0)
    settings = Settings(warehouse=tmp_path / "perfreg.duckdb", home=tmp_path / "home")
    with pytest.raises(SystemExit) as ended:
        take_in(settings, [demo_runs_dir() / "notes-000"])
    assert ended.value.code == 1
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("perfreg: ")]
    assert len(lines) == 1, lines
    assert f"writing {settings.warehouse}" in lines[0]
    assert "free some space and run the same command again" in lines[0]
