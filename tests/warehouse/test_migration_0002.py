"""A warehouse of the first release, with rows in it, becomes one of this release without losing any."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from perfreg_assets.bundled import sql_dir
from perfreg_assets.warehouse import distances, migrations, verdicts
from perfreg_assets.warehouse.connection import Warehouse

_ROWS = """
INSERT INTO core.runs (run_id, folder_name, content_hash, app, version_name, config_hash, started_at, is_quarantined,
    registered_at)
SELECT 'run-' || i, 'folder', 'hash', 'app', '1', 'c', now(), false, now() FROM range(50) AS numbers(i);
INSERT INTO core.traces (run_id, is_complete, checked_at) SELECT run_id, true, now() FROM core.runs;
INSERT INTO core.time_series (run_id, series, unit, interval_s, start_ns, "values", is_missing, extracted_at)
SELECT run_id, 'cpu_app', 'u', 1, 0, [1, 2, 3], false, now() FROM core.runs;
INSERT INTO core.history_sets
SELECT run_id, 'ready', 12, 12, 5, 0.8, 40, '{"same_version": 3}', 'twelve', 'p', '0.1', now() FROM core.runs;
INSERT INTO core.profiles
SELECT run_id, 'cpu_app', 'default', 10, [0.5, 'nan'::DOUBLE], 1, 2, 'p', '0.1', now() FROM core.runs;
INSERT INTO core.distances
SELECT i * 4 + j, 'run-' || i, ['*', 'cpu_app'][j % 2 + 1], ['iqr', 'default'][j // 2 + 1], 'p', true, 'scored', NULL,
    i / 10, 1, 2, -i, NULL, 0.5, 'more', [1, 2], 12, '{"mean": 1.5}', 'text', 'b', 'h', 12, 1, 'v', '0.1', now()
FROM range(50) AS numbers(i), range(4) AS others(j);
INSERT INTO core.distances (distance_id, run_id, series, detector, parameters_hash, is_latest, state, measured_at)
VALUES (999, 'run-0', 'rss_app', 'default', 'p', true, 'series_missing', now());
INSERT INTO core.verdicts SELECT distance_id, 0.5, 'normal', false, '0.1', now() FROM core.distances;
"""
# What lies in the data folder since, and what the tables say of it.
_MOVED = {"time_series": {"values"}, "profiles": {"profile"}, "runs": {"path"}}
_INSTEAD = {"values_file", "sample_count", "not_finite_count", "run_no"}
_TABLES = ("runs", "traces", "time_series", "history_sets", "profiles", "distances", "verdicts", "settings")


@pytest.fixture
def first_release(new_warehouse: Warehouse) -> Warehouse:
    """A file as the first release left it: only migration 0001, and marts that read the tables."""
    first = {1: migrations.migration_files(sql_dir() / "migrations")[1]}
    with duckdb.connect(str(new_warehouse.path)) as connection:
        migrations.apply_all(connection, first)
        connection.execute(_ROWS)
        connection.execute("CREATE SCHEMA marts")
        connection.execute("CREATE VIEW marts.distances AS SELECT * FROM core.distances")
        connection.execute("INSERT INTO core.mart_files VALUES ('distances.sql', 'x', now())")
    return new_warehouse


def _contents(path: Path) -> dict[str, tuple[list[str], list[tuple[object, ...]]]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        found = {}
        for table in _TABLES:
            result = connection.execute(f"SELECT * FROM core.{table} ORDER BY ALL")
            found[table] = ([column[0] for column in result.description], result.fetchall())
        return found


def test_every_row_survives_and_new_columns_are_empty(first_release: Warehouse) -> None:
    before = _contents(first_release.path)
    with first_release.writing():
        pass
    after = _contents(first_release.path)
    for table in _TABLES:
        all_names, all_rows = before[table]
        stay = [place for place, name in enumerate(all_names) if name not in _MOVED.get(table, ())]
        old_names, old_rows = [all_names[place] for place in stay], [tuple(row[i] for i in stay) for row in all_rows]
        new_names, new_rows = after[table]
        assert set(old_names) <= set(new_names)
        places = [new_names.index(name) for name in old_names]
        kept = [tuple(row[place] for place in places) for row in new_rows]
        assert sorted(map(repr, kept)) == sorted(map(repr, old_rows)), table
        added = [place for place, name in enumerate(new_names) if place not in places and name not in _INSTEAD]
        assert {row[place] for row in new_rows for place in added} <= {None}, table
    assert len(after["distances"][1]) == 201


def test_old_measurements_are_judged_as_before_and_a_third_detector_can_be_stored(first_release: Warehouse) -> None:
    with first_release.writing() as writer:
        verdicts.make_current(writer, omega=0.75, detector="default")
        states = dict(
            writer.rows("SELECT state, count(*) FROM marts.verdicts WHERE is_current AND series = '*' GROUP BY state")
        )
        assert states == {"normal": 28, "anomalous": 22}  # i / 10 > 2 + 0.75
        row = distances.DistanceRow(
            run_id="run-7", series="*", detector="oracle", parameters_hash="p", state="scored",
            distance=3.0, q1=1.0, q3=2.0, missing_series=("rss_app",),
        )  # fmt: skip
        distances.upsert(writer, [row])
        assert verdicts.evaluate(writer, 2.0, "oracle") == 1
        assert writer.value("SELECT distance_id FROM core.distances WHERE detector = 'oracle'") == 1000
        assert writer.rows("SELECT state FROM marts.verdicts WHERE detector = 'oracle'") == [("series_missing",)]
        stored = distances.find(writer, ["run-7"], "oracle")
    assert stored[0].missing_series == ("rss_app",)


def test_the_table_is_the_one_that_a_new_warehouse_has(first_release: Warehouse, warehouse: Warehouse) -> None:
    with first_release.writing() as writer:
        moved = writer.rows(_SCHEMA)
    with warehouse.writing() as writer:
        assert moved == writer.rows(_SCHEMA)


_SCHEMA = """
SELECT table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns()
WHERE schema_name IN ('core', 'marts')
ORDER BY ALL
"""
