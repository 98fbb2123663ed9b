"""A warehouse whose arrays lie in the DuckDB file becomes one with a data folder, whatever it is killed at."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from perfreg_assets.bundled import sql_dir
from perfreg_assets.warehouse import migrations, runs, series
from perfreg_assets.warehouse.connection import Warehouse

NAME = "values_outside"
Told = dict[str, list[tuple[object, ...]]]  # mart -> its rows
_ROWS = """
INSERT INTO core.runs (run_id, folder_name, content_hash, app, version_name, config_hash, started_at, path, step_count,
    path_hash, is_quarantined, registered_at)
SELECT 'run-' || i, 'folder', 'hash', 'app/' || i % 3, '1', 'c',
    TIMESTAMPTZ '2026-01-30 00:00:00+00' + to_days((i % 4)::INT),
    [{'step': j, 'ts_ns': 100 * j, 'state_hash': 's' || j,
      'screen': if(j = 1, NULL, 'a'), 'action': 'tap',
      'screen_after': 'b', 'state_hash_after': NULL} FOR j IN range(i % 5)], i % 5, 'p' || i, false, now()
FROM range(450) AS numbers(i);
INSERT INTO core.runs (run_id, folder_name, content_hash, is_quarantined, reason_code, registered_at)
VALUES ('bad', 'f', 'h', true, 'key_missing', now());
INSERT INTO core.time_series (run_id, series, unit, interval_s, start_ns, "values", is_missing, values_hash,
    extracted_at)
SELECT 'run-' || i, name, 'u', 1, 1000, [sqrt(i * 100 + j) FOR j IN range(i % 7)], false, 'v' || i, now()
FROM range(450) AS numbers(i), (VALUES ('x'), ('y')) AS names(name);
INSERT INTO core.time_series (run_id, series, unit, interval_s, start_ns, "values", is_missing, reason, extracted_at)
VALUES ('run-0', 'odd', 'u', 1, 0, ['nan'::DOUBLE, 'inf'::DOUBLE, 1], false, NULL, now()),
    ('run-0', 'none', 'u', 1, NULL, NULL, true, 'no', now());
INSERT INTO core.profiles (run_id, series, localisation, window_s, profile, threshold_low, threshold_high,
    parameters_hash, computed_at)
SELECT 'run-' || i, 'x', 'default', 10, [i + 0.5, 'nan'::DOUBLE], 1, 2, 'p', now() FROM range(20) AS numbers(i);
INSERT INTO core.barycenters
SELECT 'b' || i, [i / 3, 2.0], 1, 2, 'numba', 0.1, '0.1', now() FROM range(20) AS numbers(i);
INSERT INTO core.run_barycenters SELECT 'run-' || i, 'x', 'b' || i // 2 FROM range(38) AS numbers(i);
"""
# What the marts said before: of the tables then, and of the marts now.
_BEFORE = {
    # What is not a number is no value in long form.
    "time_series": "SELECT run_id, series, unnest([nullif(one, 'nan'::DOUBLE) FOR one IN \"values\"]), "
    'unnest(range(len("values"))) FROM core.time_series',
    "series_arrays": 'SELECT run_id, series, unit, interval_s, start_ns, "values", is_missing, reason '
    "FROM core.time_series",
    "profiles": "SELECT run_id, series, localisation, profile FROM core.profiles",
    "barycenters": 'SELECT run_id, series, barycenter_id, "values" FROM core.barycenters '
    "JOIN core.run_barycenters USING (barycenter_id)",
    "run_paths": "SELECT run_id, entry.step, entry.ts_ns, entry.state_hash, entry.screen, entry.action "
    "FROM (SELECT run_id, unnest(path) AS entry FROM core.runs)",
}
_AFTER = {
    "time_series": 'SELECT run_id, series, "value", offset_s::BIGINT FROM marts.time_series',
    "series_arrays": 'SELECT run_id, series, unit, interval_s, start_ns, "values", is_missing, reason '
    "FROM marts.series_arrays",
    "profiles": "SELECT run_id, series, localisation, profile FROM marts.profiles",
    "barycenters": 'SELECT run_id, series, barycenter_id, "values" FROM marts.barycenters',
    "run_paths": "SELECT run_id, step, ts_ns, state_hash, screen, action FROM marts.run_paths",
}
OPEN = """
import os, signal, sys
from pathlib import Path
import perfreg_assets.warehouse.connection as connection
import perfreg_assets.warehouse.data_folder as data_folder
import perfreg_assets.warehouse.migrations as migrations
import perfreg_assets.warehouse.move_values as move_values

def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)

point, step, write, calls = sys.argv[2], move_values.before, data_folder._write, []
if point == "before_step":
    move_values.before = die
if point == "mid_step":
    data_folder._write = lambda *arguments: die() if len(calls) > 9 else (calls.append(1), write(*arguments))
if point == "after_step":
    move_values.before = lambda *arguments: (step(*arguments), die())
if point == "after_migration":
    migrations._place_data = die
if point == "before_publish":
    connection.publish = die
with connection.Warehouse(Path(sys.argv[1]), lock_timeout_s=20).writing():
    pass
"""


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Told]:
    """A file of the schema before, and what was in it."""
    path = tmp_path_factory.mktemp("before") / "perfreg.duckdb"
    files = migrations.migration_files(sql_dir() / "migrations")
    (number,) = [version for version, file in files.items() if file.name.endswith(f"_{NAME}.sql")]
    with duckdb.connect(str(path)) as connection:
        migrations.apply_all(connection, {version: file for version, file in files.items() if version < number})
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(_ROWS)
        told = {mart: sorted(connection.execute(sql).fetchall(), key=repr) for mart, sql in _BEFORE.items()}
    return path, told


@pytest.fixture
def older(before: tuple[Path, Told], new_warehouse: Warehouse) -> Warehouse:
    shutil.copyfile(before[0], new_warehouse.path)
    return new_warehouse


def _marts(warehouse: Warehouse) -> Told:
    with warehouse.reading() as reader:
        return {mart: sorted(reader.rows(sql), key=repr) for mart, sql in _AFTER.items()}


def test_the_marts_say_what_they_said_before(older: Warehouse, before: tuple[Path, Told]) -> None:
    with older.writing():
        pass
    after = _marts(older)
    assert all(before[1].values())
    assert repr(after) == repr(before[1])  # NaN is not equal to itself


def test_the_rows_keep_the_rest_and_say_where_the_values_are(older: Warehouse) -> None:
    with older.writing() as writer:
        facts = writer.rows(
            "SELECT series, sample_count, not_finite_count, values_hash FROM core.time_series "
            "WHERE run_id = 'run-0' ORDER BY 1"
        )
        assert facts == [("none", None, None, None), ("odd", 3, 2, None), ("x", 0, 0, "v0"), ("y", 0, 0, "v0")]
        found = runs.find(writer, ["run-0", "run-3", "bad"])
        assert found["run-0"].path == ()
        assert found["bad"].path is None
        assert found["run-3"].path is not None
        assert [step.screen_after for step in found["run-3"].path] == ["b"] * 3
        assert found["run-3"].path_hash == "p3"
        kinds = dict(writer.rows("SELECT kind, count(DISTINCT (app, month)) FROM core.value_files GROUP BY kind"))
        assert kinds == {"series": 6, "profiles": 6, "barycenters": 7, "paths": 6}  # one is nobody's
        assert len(series.find(writer, [f"run-{i}" for i in range(450)])) == 902


@pytest.mark.parametrize("point", ["before_step", "mid_step", "after_step", "after_migration", "before_publish"])
def test_a_kill_on_the_way_loses_nothing(older: Warehouse, before: tuple[Path, Told], point: str) -> None:
    done = subprocess.run([sys.executable, "-c", OPEN, str(older.path), point], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert not older.published.exists()
    with older.writing():
        pass
    after = _marts(older)
    assert repr(after) == repr(before[1])
