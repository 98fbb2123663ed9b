"""The schema only goes forward: each migration once, an altered or newer one is refused, marts follow their files."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import duckdb
import pytest

from perfreg_assets.bundled import sql_dir
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import migrations
from perfreg_assets.warehouse.connection import Warehouse


@pytest.fixture
def sql(tmp_path: Path) -> Path:
    """A copy of the release's migrations, marts and descriptions that a test may change."""
    for name in ("migrations", "values", "marts"):
        shutil.copytree(sql_dir() / name, tmp_path / "sql" / name)
    shutil.copy(sql_dir() / "columns.toml", tmp_path / "sql")
    return tmp_path / "sql"


@pytest.fixture
def connection(tmp_path: Path) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(str(tmp_path / "plain.duckdb"))


def _versions(connection: duckdb.DuckDBPyConnection) -> list[tuple[int, str]]:
    return connection.execute("SELECT version, name FROM core.schema_version ORDER BY version").fetchall()


def _next(sql: Path, text: str) -> None:
    number = len(list((sql / "migrations").iterdir())) + 1
    (sql / "migrations" / f"{number:04d}_more.sql").write_text(text)


def _describe(sql: Path, *names: str) -> None:
    with (sql / "columns.toml").open("a") as file:
        file.writelines(f'{name} = "What {name} means."\n' for name in names)


def test_a_new_file_gets_every_migration_once(connection: duckdb.DuckDBPyConnection, sql: Path) -> None:
    assert migrations.migrate(connection, folder=sql)
    assert _versions(connection)[0] == (1, "0001_initial.sql")
    assert len(_versions(connection)) == len(list((sql / "migrations").iterdir()))
    assert not migrations.migrate(connection, folder=sql)


def test_a_later_migration_is_added_and_keeps_the_data(connection: duckdb.DuckDBPyConnection, sql: Path) -> None:
    migrations.migrate(connection, folder=sql)
    connection.execute("INSERT INTO core.timings VALUES ('r', 'engine', 1.5, now(), 1)")
    _next(sql, "ALTER TABLE core.timings ADD COLUMN host VARCHAR;")
    _describe(sql, "host")
    assert migrations.migrate(connection, folder=sql)
    assert connection.execute("SELECT seconds, host FROM core.timings").fetchall() == [(1.5, None)]


def test_an_altered_migration_is_refused_and_named(connection: duckdb.DuckDBPyConnection, sql: Path) -> None:
    migrations.migrate(connection, folder=sql)
    with (sql / "migrations" / "0001_initial.sql").open("a") as file:
        file.write("-- harmless\n")
    with pytest.raises(Rejected, match=r"0001_initial\.sql") as caught:
        migrations.migrate(connection, folder=sql)
    assert caught.value.reason is Reason.WAREHOUSE_ALTERED


def test_a_newer_warehouse_is_refused_and_left_alone(connection: duckdb.DuckDBPyConnection, sql: Path) -> None:
    migrations.migrate(connection, folder=sql)
    connection.execute("INSERT INTO core.schema_version VALUES (9999, '9999_future.sql', 'x', now())")
    with pytest.raises(Rejected, match="9999") as caught:
        migrations.migrate(connection, folder=sql)
    assert caught.value.reason is Reason.WAREHOUSE_NEWER


def test_a_migration_that_fails_halfway_leaves_no_trace(connection: duckdb.DuckDBPyConnection, sql: Path) -> None:
    migrations.migrate(connection, folder=sql)
    before = _versions(connection)
    _next(sql, "CREATE TABLE core.half (a INTEGER); INSERT INTO core.half VALUES (1); SELECT broken;")
    with pytest.raises(duckdb.Error, match="broken"):
        migrations.migrate(connection, folder=sql)
    assert _versions(connection) == before
    assert connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'half'").fetchall() == []


@pytest.mark.parametrize("name", ["0099_gap.sql", "first.sql", "01_short.sql"])
def test_misnamed_migrations_are_a_mistake_of_the_release(sql: Path, name: str) -> None:
    (sql / "migrations" / name).write_text("SELECT 1;")
    with pytest.raises(ValueError, match="migrations"):
        migrations.migration_files(sql / "migrations")


def test_marts_are_made_anew_only_when_a_file_changed(connection: duckdb.DuckDBPyConnection, sql: Path) -> None:
    def made_at() -> list[tuple[object, ...]]:
        return connection.execute("SELECT DISTINCT created_at FROM core.mart_files ORDER BY ALL").fetchall()

    migrations.migrate(connection, folder=sql)
    first = made_at()
    migrations.migrate(connection, folder=sql)
    assert made_at() == first
    (sql / "marts" / "timings.sql").unlink()
    (sql / "marts" / "one.sql").write_text("-- One.\nCREATE VIEW marts.one AS SELECT 1 AS one;")
    _describe(sql, "one")
    assert migrations.migrate(connection, folder=sql)
    assert made_at() != first
    assert connection.execute("SELECT one FROM marts.one").fetchall() == [(1,)]
    with pytest.raises(duckdb.Error):
        connection.execute("SELECT * FROM marts.timings")


def test_a_mart_that_does_not_compile_leaves_the_old_marts(connection: duckdb.DuckDBPyConnection, sql: Path) -> None:
    migrations.migrate(connection, folder=sql)
    (sql / "marts" / "one.sql").write_text("-- One.\nCREATE VIEW marts.one AS SELECT broken;")
    with pytest.raises(duckdb.Error, match="broken"):
        migrations.migrate(connection, folder=sql)
    assert connection.execute("SELECT count(*) FROM marts.runs").fetchall() == [(0,)]


def test_marts_come_after_what_they_depend_on(sql: Path) -> None:
    names = [Path(file.name).stem for file in migrations.mart_files(sql / "marts")]
    assert names.index("verdict_state") < names.index("verdicts_at") < names.index("verdict_flips")
    assert len(names) == len(set(names)) == len(list((sql / "marts").iterdir()))


@pytest.mark.parametrize("header", ["nowhere", "runs"])
def test_marts_that_cannot_be_ordered_are_a_mistake_of_the_release(sql: Path, header: str) -> None:
    (sql / "marts" / "reviews.sql").write_text(f"-- depends: {header}\nSELECT 1;")
    with pytest.raises(ValueError, match="depends"):
        migrations.mart_files(sql / "marts")


def test_migrations_call_no_function_in_a_check(warehouse: Warehouse) -> None:
    # After a crash DuckDB replays its log before its extensions are there: a CHECK that calls isnan() made the
    # file unreadable for good.
    with warehouse.writing() as writer:
        checks = [
            text
            for (text,) in writer.rows(
                "SELECT constraint_text FROM duckdb_constraints() WHERE constraint_type = 'CHECK'"
            )
        ]
    assert checks
    called = {name for check in checks for name in re.findall(r"\b(\w+)\s*\(", check)}
    assert called <= {"CHECK", "CAST", "IN", "AND", "OR", "NOT"}
