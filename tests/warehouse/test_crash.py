"""A writer killed at a named point: never half a partition, the next write works, readers never notice."""

from __future__ import annotations

import filecmp
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from perfreg_assets.warehouse.connection import Warehouse

# A partition is 2 runs × 3 series whose values are all equal to the write's number; it is torn if they are not.
WRITE = """
import os, signal, sys
from pathlib import Path
import numpy as np
import perfreg_assets.warehouse.connection as connection
import perfreg_assets.warehouse.data_folder as data_folder
import perfreg_assets.warehouse.publishing as publishing
from perfreg_assets.warehouse import runs, runs, series

def die(*arguments, **named):
    os.kill(os.getpid(), signal.SIGKILL)

point, number = sys.argv[2], float(sys.argv[3])
warehouse = connection.Warehouse(Path(sys.argv[1]), lock_timeout_s=20)
if point == "before_migration":
    connection.migrations.migrate = die
if point == "before_publish":
    connection.publish = die
publishing._clone = lambda source, part: False
if point == "mid_copy":
    def half(reading, writing, size):
        os.sendfile(writing, reading, 0, size // 2)
        die()
    publishing._send = half
    publishing._refresh = lambda *files: False
if point == "mid_refresh":
    def half(descriptor, buffer, start):
        os.pwrite(descriptor, buffer[:len(buffer) // 2], start)
        die()
    publishing._write = half
rename = publishing._rename
if point == "spare_taken":
    publishing._rename = lambda old, new: (rename(old, new), die())
if point == "before_rename":
    publishing._rename = lambda old, new: rename(old, new) if old.name.endswith(".spare") else die()
if point == "between_renames":
    publishing._rename = lambda old, new: die() if old.name.endswith(".former") else rename(old, new)
if point == "after_rename":
    publishing._rename = lambda old, new: (rename(old, new), die() if old.name.endswith(".former") else None)
if point == "file_half_written":
    def half(root, name, content):
        path = root / name
        path.parent.mkdir(parents=True)
        path.with_name(path.name + ".part-1").write_bytes(content[:len(content) // 2])
        die()
    data_folder._write = half
if point == "file_written":
    write = data_folder._write
    data_folder._write = lambda *arguments: (write(*arguments), die())

with warehouse.writing() as writer:
    def upsert(run_id, names):
        series.upsert(writer, [
            series.SeriesRow(run_id=run_id, series=name, unit="cores", interval_s=1.0, start_ns=0,
                             values=np.full(20000, number), is_missing=False)
            for name in names])
    runs.upsert(writer, [
        runs.RunRow(run_id=run_id, folder_name="f", content_hash="h", is_quarantined=True, reason_code="key_missing")
        for run_id in "ab"])
    upsert("a", ["x", "y", "z"])
    if point == "mid_write":
        die()
    upsert("b", ["x", "y", "z"])
    if point == "before_commit":
        die()
    if point == "after_commit":
        writer._connection.execute("COMMIT")
        die()
"""
POINTS = [
    "before_migration", "file_half_written", "file_written", "mid_write", "before_commit", "after_commit",
    "before_publish", "mid_copy", "spare_taken", "mid_refresh", "before_rename", "between_renames", "after_rename",
]  # fmt: skip
IS_COMMITTED = {
    "after_commit", "before_publish", "mid_copy", "spare_taken", "mid_refresh", "before_rename", "between_renames",
    "after_rename",
}  # fmt: skip
IS_PUBLISHED = {"between_renames", "after_rename"}


def _write(path: Path, point: str, number: int) -> int:
    return subprocess.run(
        [sys.executable, "-c", WRITE, str(path), point, str(number)], check=False, timeout=60
    ).returncode


def _published(warehouse: Warehouse) -> list[tuple[str, str, float, float, int]]:
    with warehouse.reading() as reader:
        return reader.rows(
            'SELECT run_id, series, list_min("values"), list_max("values"), len("values") '
            "FROM core.time_series JOIN core.series_values USING (values_file, run_id, series) ORDER BY run_id, series"
        )


def _whole(number: int) -> list[tuple[str, str, float, float, int]]:
    return [(run_id, name, float(number), float(number), 20000) for run_id in "ab" for name in "xyz"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a warehouse that was written to as often as it takes for there to be a spare."""
    folder = tmp_path_factory.mktemp("written")
    for _ in range(2):
        assert _write(folder / "perfreg.duckdb", "nowhere", 1) == 0
    return folder


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_leaves_the_old_or_the_new_state_and_the_next_write_works(
    written: Path, tmp_path: Path, point: str
) -> None:
    warehouse = Warehouse(shutil.copytree(written, tmp_path / "own") / "perfreg.duckdb", lock_timeout_s=10.0)
    assert _published(warehouse) == _whole(1)

    assert _write(warehouse.path, point, 2) == -signal.SIGKILL
    assert _published(warehouse) == _whole(2 if point in IS_PUBLISHED else 1)

    with warehouse.writing():  # writes nothing, and so publishes what was committed
        pass
    assert _published(warehouse) == _whole(2 if point in IS_COMMITTED else 1)
    assert _write(warehouse.path, "nowhere", 3) == 0
    assert _published(warehouse) == _whole(3)
    assert filecmp.cmp(warehouse.path, warehouse.published, shallow=False)
    left = {path.name for path in warehouse.path.parent.iterdir()}
    own = {f"perfreg.duckdb{ending}" for ending in ("", ".lock", ".written")}
    assert left == own | {"perfreg.read.duckdb", "perfreg.read.duckdb.spare", "perfreg.data"}


@pytest.mark.parametrize("point", ["before_migration", "file_half_written", "mid_write", "mid_copy"])
def test_a_kill_in_the_very_first_write_leaves_nothing_that_stands_in_the_way(
    new_warehouse: Warehouse, point: str
) -> None:
    assert _write(new_warehouse.path, point, 1) == -signal.SIGKILL
    assert not new_warehouse.published.exists()
    assert _write(new_warehouse.path, "nowhere", 2) == 0
    assert _published(new_warehouse) == _whole(2)
