"""sql/columns.toml: what a column means is said once per name, and every column of core and marts says it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import duckdb
import pytest

from perfreg_assets.bundled import sql_dir
from perfreg_assets.warehouse import column_descriptions, migrations
from perfreg_assets.warehouse.connection import Warehouse

DESCRIPTIONS = column_descriptions.of_release()


@pytest.fixture
def sql(tmp_path: Path) -> Path:
    """A copy of the release's SQL that a test may change."""
    shutil.copytree(sql_dir(), tmp_path / "sql")
    return tmp_path / "sql"


def _names(reader: object) -> set[str]:
    """Names of all columns of core and marts, those of table macros too."""
    names = {
        name
        for (name,) in reader.rows(
            "SELECT DISTINCT column_name FROM duckdb_columns() WHERE schema_name IN ('core', 'marts') AND NOT internal"
        )
    }
    macros = reader.rows(
        "SELECT function_name, len(parameters) FROM duckdb_functions() "
        "WHERE schema_name = 'marts' AND function_type = 'table_macro'"
    )
    assert len(macros) >= 4
    for macro, count in macros:
        arguments = ", ".join(["NULL"] * count)
        names |= {row[0] for row in reader.rows(f"DESCRIBE FROM marts.{macro}({arguments})")}
    return names


def test_every_column_is_described_and_every_description_used(sample: Warehouse) -> None:
    with sample.reading() as reader:
        assert _names(reader) == set(DESCRIPTIONS)


def test_wherever_a_name_occurs_it_has_that_one_description(sample: Warehouse) -> None:
    with sample.reading() as reader:
        rows = reader.rows(
            "SELECT schema_name, table_name, column_name, comment FROM duckdb_columns() "
            "WHERE schema_name IN ('core', 'marts') AND NOT internal"
        )
    assert len(rows) > 400
    assert [row for row in rows if row[3] != DESCRIPTIONS[row[2]]] == []


def test_the_file_is_sorted_and_its_texts_are_sentences() -> None:
    assert list(DESCRIPTIONS) == sorted(DESCRIPTIONS)
    for name, text in DESCRIPTIONS.items():
        assert re.fullmatch(r".{9,}[.…]", text), name


NO_SHARES = ("excess_ratio", "growth_per_s", "energy_ratio", "mape_ratio", "scale_ratio")


def test_a_unit_in_the_name_is_a_unit_in_the_text() -> None:
    units = {"_s": "second", "_ns": "ns", "_bytes": "bytes", "_ratio": "0 to 1", "_at": "(UTC)"}
    for name, text in DESCRIPTIONS.items():
        for ending, unit in units.items():
            if name.endswith(ending) and name not in NO_SHARES and not name.endswith("change_ratio"):
                assert unit in text, name


def test_descriptions_stand_in_no_other_file() -> None:
    texts = [path.read_text() for path in (sql_dir() / "marts").glob("*.sql")]
    assert not any("COMMENT ON COLUMN" in text for text in texts)


def test_no_description_lists_detectors() -> None:
    assert not [name for name, text in DESCRIPTIONS.items() if re.search(r"\b(iqr|default:)", text)]


def test_a_column_without_description_is_a_mistake_of_the_release_and_is_named(sql: Path) -> None:
    (sql / "marts" / "one.sql").write_text("-- One.\nCREATE VIEW marts.one AS SELECT 1 AS nobody_knows;")
    with pytest.raises(ValueError, match=r"marts\.one\.nobody_knows has no description"):
        migrations.migrate(duckdb.connect(), folder=sql)


def test_another_description_reaches_a_warehouse_that_is_there_already(sql: Path) -> None:
    connection = duckdb.connect()
    migrations.migrate(connection, folder=sql)
    assert not migrations.migrate(connection, folder=sql)
    path = sql / "columns.toml"
    path.write_text(path.read_text().replace(DESCRIPTIONS["device"], "It's another text."))
    assert migrations.migrate(connection, folder=sql)
    told = connection.execute("SELECT DISTINCT comment FROM duckdb_columns() WHERE column_name = 'device'").fetchall()
    assert told == [("It's another text.",)]


@pytest.mark.parametrize(
    "name", ["verdicts", "axis_verdicts", "version_verdicts", "benchmark_verdicts", "false_alarm_rates"]
)
def test_at_any_omega_there_are_the_same_columns_in_the_same_order(sample: Warehouse, name: str) -> None:
    """Who puts one above the other, or asks by position, gets the same of both."""
    with sample.reading() as reader:
        given, recomputed = (
            [(column, kind) for column, kind, *_ in reader.rows(f"DESCRIBE FROM marts.{what}")]
            for what in (name, f"{name}_at(0.5)")
        )
    assert recomputed == given
