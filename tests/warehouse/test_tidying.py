"""Small files become few, unnamed ones go after their time, and whatever is killed when: no value is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfreg_assets.warehouse import connection, joining, paths, runs, series, value_files, values
from perfreg_assets.warehouse.connection import Reader, Warehouse, Writer
from perfreg_assets.warehouse.tidying import GRACE, Tidied, tidy
from perfreg_assets.warehouse.value_files import Written

NONE = timedelta(0)
START = datetime(2026, 3, 5, tzinfo=UTC)

# Stores or tidies, and is killed at a named point.
ACT = """
import os, signal, sys
from datetime import timedelta
from pathlib import Path
sys.path.insert(0, sys.argv[3])
import perfreg_assets.warehouse.connection as connection
import perfreg_assets.warehouse.data_folder as data_folder
import perfreg_assets.warehouse.tidying as tidying
import perfreg_assets.warehouse.values as values
import test_tidying

def die(*arguments, **named):
    os.kill(os.getpid(), signal.SIGKILL)

point = sys.argv[2]
delete, write = data_folder.DataFolder.delete, data_folder._write
if point == "mid_delete":
    data_folder.DataFolder.delete = lambda self, names: (delete(self, list(names)[:3]), die())
if point == "after_delete":
    data_folder.DataFolder.delete = lambda self, names: (delete(self, names), die())
if point == "before_file":
    data_folder._write = die
if point == "after_file":
    data_folder._write = lambda *arguments: (write(*arguments), die())
if point == "after_register":
    register = values.register
    values.register = lambda *arguments: (register(*arguments), die())
if point == "before_publish":
    connection.publish = die
warehouse = connection.Warehouse(Path(sys.argv[1]), lock_timeout_s=20)
tidying.tidy(warehouse, grace=timedelta(0))
"""


def _values(number: int) -> np.ndarray:
    return np.random.default_rng(number).normal(size=50)


def _store(
    warehouse: Warehouse, number: int, app: str = "app", *, version: int = 0, started_at: datetime = START
) -> None:
    run_id = f"run-{number:03d}"
    with warehouse.writing() as writer:
        runs.upsert(writer, [
            runs.RunRow(
                run_id=run_id, folder_name="f", content_hash="h", app=app, version_name="1", config_hash="c",
                started_at=started_at, step_count=2,
                path=tuple(runs.PathStep(i, i, f"{number}-{version}-{i}") for i in range(2)),
            )
        ])  # fmt: skip
        series.upsert(writer, [
            series.SeriesRow(run_id=run_id, series=name, unit="u", interval_s=1.0, start_ns=0,
                             values=_values(number) + version, is_missing=False)
            for name in "xy"
        ])  # fmt: skip


def _check(reader: Reader, numbers: range, *, version: int = 0) -> None:
    ids = [f"run-{number:03d}" for number in numbers]
    found = series.find(reader, ids)
    assert len(found) == 2 * len(ids)
    for (run_id, _), row in found.items():
        assert row.values is not None
        assert np.array_equal(row.values, _values(int(run_id[-3:])) + version)
    states = paths.states(reader, ids)
    assert states == {f"run-{n:03d}": (f"{n}-{version}-0", f"{n}-{version}-1") for n in numbers}
    assert reader.value("SELECT count(*) FROM marts.time_series") == 2 * 50 * len(ids)
    assert reader.value("SELECT count(*) FROM marts.run_paths") == 2 * len(ids)


def _check_published(warehouse: Warehouse, numbers: range, *, version: int = 0) -> None:
    with warehouse.reading() as reader:
        _check(reader, numbers, version=version)


def _files(warehouse: Warehouse) -> set[str]:
    root = Path(warehouse.data.root)
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()} - value_files.EMPTY_FILES


def test_small_files_are_joined_and_go_when_their_time_is_over(warehouse: Warehouse) -> None:
    for number in range(5):
        _store(warehouse, number)
        _store(warehouse, 100 + number, "other")
    before = _files(warehouse)
    assert len(before) == 20
    assert tidy(warehouse) == Tidied(joined=20, deleted=0, waiting=20, missing=())
    joined = _files(warehouse) - before
    assert len(joined) == 4
    assert tidy(warehouse) == Tidied(joined=0, deleted=0, waiting=20, missing=())
    assert tidy(warehouse, grace=NONE) == Tidied(joined=0, deleted=20, waiting=0, missing=())
    assert _files(warehouse) == joined
    with warehouse.reading() as reader:
        assert reader.value("SELECT count(*) FROM core.value_files") == 4
        assert len(series.find(reader, [f"run-{n:03d}" for n in (*range(5), *range(100, 105))])) == 20


def test_what_was_dropped_by_a_clock_that_was_ahead_waits_no_longer_than_the_rest(warehouse: Warehouse) -> None:
    _store(warehouse, 1)
    _store(warehouse, 1, version=1)
    assert tidy(warehouse).waiting > 0
    with warehouse.writing() as writer:
        writer.execute("UPDATE core.value_files SET dropped_at = now() + INTERVAL 1 YEAR WHERE dropped_at IS NOT NULL")
    waiting = tidy(warehouse).waiting
    assert waiting > 0
    assert tidy(warehouse, grace=NONE).deleted == waiting


def test_a_crowded_month_is_joined_by_the_write_that_crowds_it(warehouse: Warehouse) -> None:
    most = joining.SMALL_FILES
    for number in range(most):
        _store(warehouse, number)
    with warehouse.reading() as reader:
        assert reader.value("SELECT count(DISTINCT values_file) FROM core.time_series") == most
    _store(warehouse, most)
    with warehouse.reading() as reader:
        assert reader.value("SELECT count(DISTINCT values_file) FROM core.time_series") == 1
        assert reader.value("SELECT count(DISTINCT values_file) FROM core.runs") == 1
        assert reader.value("SELECT count(*) FROM core.value_files WHERE dropped_at IS NULL") == 2
    _check_published(warehouse, range(most + 1))


def test_a_run_that_is_corrected_to_another_month_or_app_has_its_values_once(warehouse: Warehouse) -> None:
    for changes in ({}, {"started_at": START.replace(month=1)}, {"app": "renamed"}):
        _store(warehouse, 0, **changes)
        _store(warehouse, 1, "other")
        _check_published(warehouse, range(2))
    tidy(warehouse)
    assert tidy(warehouse, grace=NONE) == Tidied(joined=0, deleted=4, waiting=0, missing=())
    assert {name.split("/")[1] for name in _files(warehouse)} == {"app=renamed", "app=other"}
    _check_published(warehouse, range(2))


@pytest.mark.parametrize("changes", [{"started_at": START.replace(month=1)}, {"app": "renamed"}], ids=str)
def test_what_a_killed_writer_left_is_not_read_with_the_run_corrected_to_another_month_or_app(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    """`kill -9` between a file and its row, run.json corrected, ingested again: marts had each step twice for a day."""
    register = values.register

    def killed(writer: Writer, written: Written) -> None:
        register(writer, written)
        if written.kind == value_files.SERIES:  # the file of steps is written before
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(values, "register", killed)
        with pytest.raises(KeyboardInterrupt):
            _store(warehouse, 0)
    assert {name.partition("/")[0] for name in _files(warehouse)} == {"paths", "series"}
    _store(warehouse, 0, **changes)
    _check_published(warehouse, range(1))


def test_values_that_lie_in_a_second_place_go(warehouse: Warehouse) -> None:
    """As earlier releases left them there when a run was corrected to another month: marts had each row twice."""
    _store(warehouse, 0)
    root = Path(warehouse.data.root)
    for file in sorted(_files(warehouse)):
        second = root / file.replace("month=2026-03", "month=2025-03")
        second.parent.mkdir(parents=True)
        second.write_bytes((root / file).read_bytes())
    before = _files(warehouse)
    assert tidy(warehouse).deleted == 0  # somebody may read them still
    assert _files(warehouse) == before
    assert tidy(warehouse, grace=NONE).deleted == 2
    _check_published(warehouse, range(1))


def test_what_was_replaced_is_not_joined_and_goes(warehouse: Warehouse) -> None:
    for number in range(4):
        _store(warehouse, number)
    for number in range(4):
        _store(warehouse, number, version=1)
    tidy(warehouse)
    _check_published(warehouse, range(4), version=1)
    with warehouse.reading() as reader:
        rows = reader.value("SELECT sum(row_count) FROM core.value_files WHERE dropped_at IS NULL AND kind = 'series'")
    assert rows == 8
    assert tidy(warehouse, grace=NONE).deleted == 16
    _check_published(warehouse, range(4), version=1)


def test_a_reader_of_an_older_state_still_finds_its_files(warehouse: Warehouse) -> None:
    for number in range(4):
        _store(warehouse, number)
    with warehouse.reading() as older:
        for number in range(4):
            _store(warehouse, number, version=1)
        tidy(warehouse)
        tidy(warehouse)
        _check(older, range(4))
    assert timedelta(hours=1) <= GRACE


def test_what_the_published_file_names_stays_whatever_the_written_one_says(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        _store(warehouse, number)
    with monkeypatch.context() as patched:
        patched.setattr(connection, "publish", lambda source, target: None)
        for number in range(4):
            _store(warehouse, number, version=1)
        tidy(warehouse, grace=NONE)
        tidy(warehouse, grace=NONE)
        _check_published(warehouse, range(4))
    with warehouse.writing():
        pass
    _check_published(warehouse, range(4), version=1)
    tidy(warehouse, grace=NONE)
    _check_published(warehouse, range(4), version=1)


def test_what_killed_writers_left_goes_too_but_not_at_once(warehouse: Warehouse) -> None:
    _store(warehouse, 1)
    root = Path(warehouse.data.root)
    stray = root / "series" / "app=a" / "month=m" / "file=0123"
    stray.mkdir(parents=True)
    (stray / "values.parquet").write_bytes(b"whole")
    (stray / "values.parquet.part-77").write_bytes(b"half")
    assert tidy(warehouse).deleted == 0
    assert tidy(warehouse, grace=NONE).deleted == 2
    assert not stray.exists()
    _check_published(warehouse, range(1, 2))


def test_a_file_that_is_gone_is_told_and_nothing_else_suffers(warehouse: Warehouse) -> None:
    for number in range(3):
        _store(warehouse, number)
    (gone,) = [name for name in _files(warehouse) if name.startswith("paths")][:1]
    (Path(warehouse.data.root) / gone).unlink()
    assert tidy(warehouse).missing == (gone,)
    with warehouse.reading() as reader:
        assert len(series.find(reader, ["run-000", "run-001", "run-002"])) == 6


@pytest.mark.parametrize(
    "point", ["before_file", "after_file", "after_register", "before_publish", "mid_delete", "after_delete"]
)
def test_a_kill_while_tidying_loses_nothing(warehouse: Warehouse, point: str) -> None:
    for number in range(4):
        _store(warehouse, number)
    if "delete" in point:
        tidy(warehouse)
    arguments = [str(warehouse.path), point, str(Path(__file__).parent)]
    done = subprocess.run([sys.executable, "-c", ACT, *arguments], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    _check_published(warehouse, range(4))
    _store(warehouse, 4)
    _check_published(warehouse, range(5))
    assert tidy(warehouse, grace=NONE).missing == ()
    tidy(warehouse, grace=NONE)
    _check_published(warehouse, range(5))
    assert len(_files(warehouse)) == 2


def test_a_large_file_stays_as_it_is(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        _store(warehouse, number)
    monkeypatch.setattr(joining, "SMALL_BYTES", 100)
    assert tidy(warehouse).joined == 0


def test_a_part_that_is_renamed_while_the_folder_is_listed_is_no_failure(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "perfreg.duckdb", lock_timeout_s=5)
    _store(warehouse, 1)
    before = warehouse.data.listing()
    (Path(warehouse.data.root) / "values.parquet.part-1").symlink_to(tmp_path / "renamed")
    assert warehouse.data.listing() == before
