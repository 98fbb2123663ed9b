"""A command that fails for want of room names the disk that is full, whatever broke first because of it."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections import namedtuple

import pytest

from perfreg_assets.automation.home import prepare_home
from perfreg_assets.cli.disk import disk_full
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
    ],
)
def test_the_full_disk_is_named(settings, error):
    told = disk_full(error, settings)
    assert f"no room in the home {settings.home_dir} " in told
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
