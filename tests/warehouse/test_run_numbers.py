"""Every run has a number for good, and everything that is stored of it has the same."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from perfreg_assets.bundled import sql_dir
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import migrations, run_numbers, runs, series
from perfreg_assets.warehouse.connection import Reader, Warehouse
from perfreg_assets.warehouse.series import SeriesRow
from tests.warehouse.registered import register

_OF_ANOTHER = {"reductions", "collections", "notifications"}
"""Tables whose `run_id` need not be that of a registered run."""


def _numbered(reader: Reader, column: str = "run_no") -> list[str]:
    found = reader.rows(
        "SELECT table_name FROM duckdb_columns() JOIN duckdb_tables() USING (database_name, schema_name, table_name) "
        "WHERE database_name = current_database() AND schema_name = 'core' AND column_name = ? ORDER BY 1",
        [column],
    )
    return [name for (name,) in found]


def test_every_table_about_runs_knows_them_by_number(warehouse: Warehouse) -> None:
    with warehouse.reading() as reader:
        assert {*_numbered(reader, "run_id")} - {*_numbered(reader)} == _OF_ANOTHER


def test_whatever_is_stored_of_a_run_has_its_number(sample: Warehouse) -> None:
    with sample.reading() as reader:
        for table in {*_numbered(reader)} - {"verdicts"}:
            of_run = "subject_id" if table == "measurements" else "run_id"
            kind = "WHERE stored.subject_kind = 'run'" if table == "measurements" else ""
            wrong = reader.value(
                f"SELECT count(*) FROM core.{table} AS stored "
                f"LEFT JOIN core.runs AS runs ON runs.run_id = stored.{of_run} "
                f"{kind or 'WHERE true'} AND stored.run_no IS DISTINCT FROM runs.run_no"
            )
            assert wrong == 0, table
        others = (
            "SELECT count(*) FROM core.history_candidates AS one JOIN core.runs AS runs ON runs.run_id = history_run_id"
        )
        assert reader.value(others) == reader.value(f"{others} WHERE one.history_run_no = runs.run_no") > 0
        given = "SELECT count(*) FROM core.verdicts AS given JOIN core.distances AS measured USING (distance_id)"
        assert reader.value(given) == reader.value(f"{given} WHERE given.run_no = measured.run_no") > 0


def test_numbers_are_given_in_order_of_registration_and_kept(warehouse: Warehouse) -> None:
    with warehouse.writing() as writer:
        register(writer, "z", "a")
        register(writer, "m")
        before = run_numbers.of(writer, ["z", "m", "nobody", "a"])
        assert before == {"z": 1, "m": 3, "a": 2}
    with warehouse.writing() as writer:
        again = runs.find(writer, ["a"])["a"]
        register(writer, "a", "b", version_name="2")  # given once more
        assert runs.find(writer, ["a"])["a"].registered_at == again.registered_at
        assert run_numbers.of(writer, ["z", "a", "m", "b"]) == {**before, "b": 4}


def test_rows_of_a_run_that_is_not_registered_are_refused(warehouse: Warehouse) -> None:
    row = SeriesRow(
        run_id="b", series="x", unit="cores", interval_s=1.0, start_ns=0, values=np.ones(3), is_missing=False
    )
    with warehouse.writing() as writer:
        register(writer, "a")
        with pytest.raises(Rejected, match="the warehouse does not have 1 run: b") as caught:
            series.upsert(writer, [row])
    assert caught.value.reason is Reason.WAREHOUSE_REPLACED


def test_an_earlier_warehouse_gets_numbers_by_the_time_of_registration(tmp_path: Path) -> None:
    files = migrations.migration_files(sql_dir() / "migrations")
    (own,) = (number for number, file in files.items() if file.name.endswith("run_numbers.sql"))
    path = tmp_path / "perfreg.duckdb"
    with duckdb.connect(str(path)) as connection:
        migrations.apply_all(connection, {number: file for number, file in files.items() if number < own})
        for run_id, hours in (("late", 2), ("early", 0), ("between", 1)):
            connection.execute(
                "INSERT INTO core.runs (run_id, folder_name, content_hash, is_quarantined, reason_code, registered_at) "
                "VALUES (?, 'f', 'h', true, 'key_missing', TIMESTAMPTZ '2026-01-01 00:00:00Z' + ?)",
                [run_id, timedelta(hours=hours)],
            )
            connection.execute("INSERT INTO core.reviews VALUES (now(), ?, 'confirmed', NULL, NULL)", [run_id])
        connection.execute(
            "INSERT INTO core.history_candidates (run_id, history_run_id, exclude_reason) VALUES ('late', 'early', 'x')"
        )
    with Warehouse(path, lock_timeout_s=5).writing() as writer:
        assert run_numbers.of(writer, ["early", "between", "late"]) == {"early": 1, "between": 2, "late": 3}
        assert writer.rows("SELECT run_no, history_run_no FROM core.history_candidates") == [(3, 1)]
        assert writer.rows("SELECT run_id, run_no FROM core.reviews_in_force ORDER BY run_no") == [
            ("early", 1),
            ("between", 2),
            ("late", 3),
        ]


@pytest.mark.parametrize("asked_by", ["run_id", "run_no"])
def test_a_run_is_told_the_same_by_id_and_by_number(sample: Warehouse, asked_by: Any) -> None:
    with sample.reading() as reader:
        run_id, run_no = reader.rows(
            "SELECT run_id, run_no FROM marts.runs WHERE is_anomalous ORDER BY run_id LIMIT 1"
        )[0]
        value = f"'{run_id}'" if asked_by == "run_id" else run_no
        for mart in ("runs", "verdicts", "axis_verdicts", "run_paths", "causes_from", "energy_by_run", "localisations"):
            chosen = reader.rows(f"FROM marts.{mart} WHERE {asked_by} = {value} ORDER BY ALL")
            whole = [row for row in reader.dicts(f"FROM marts.{mart} ORDER BY ALL") if row["run_id"] == run_id]
            assert [tuple(row.values()) for row in whole] == chosen, mart


def test_a_number_that_was_seen_is_a_guess_that_the_warehouse_confirms(tmp_path: Path) -> None:
    first, second = (Warehouse(tmp_path / f"{name}.duckdb", lock_timeout_s=5) for name in ("first", "second"))
    with first.writing() as writer:
        register(writer, "a", "b", "c")
    with second.writing() as writer:
        register(writer, "c", "other", "a")
    for _ in range(2):  # what is seen in one is no fact of the other
        with first.reading() as reader:
            assert run_numbers.of(reader, ["c", "a", "b", "other"]) == {"c": 3, "a": 1, "b": 2}
        with second.reading() as reader:
            assert run_numbers.of(reader, ["c", "a", "b", "other"]) == {"c": 1, "a": 3, "other": 2}


def test_a_number_that_is_known_is_looked_up_by_itself(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    with warehouse.writing() as writer:
        register(writer, "a", "b")
    with warehouse.reading() as reader:
        run_numbers.of(reader, ["a", "b"])
    asked: list[str] = []
    rows = Reader.rows
    monkeypatch.setattr(Reader, "rows", lambda self, sql, bound=(): asked.append(sql) or rows(self, sql, bound))
    with warehouse.reading() as reader:
        assert run_numbers.of(reader, ["b", "a"]) == {"b": 2, "a": 1}
    assert ["run_no IN (1, 2)" in sql for sql in asked] == [True]
