"""Macros that have settings in force and names of detectors written in say what the tables say."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfreg_assets.bundled import sql_dir
from perfreg_assets.warehouse import constant_macros, settings_table
from perfreg_assets.warehouse.connection import Warehouse

TEXTS = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=12)


def _by_query(connection: duckdb.DuckDBPyConnection, macro: str, argument: str) -> object:
    """The answer by the query that the macro's file has."""
    statement = (sql_dir() / "marts" / f"{macro}.sql").read_text("utf-8").split(";")[0]
    connection.execute(statement.replace("CREATE MACRO marts.", "CREATE OR REPLACE TEMP MACRO asked_"))
    [(answer,)] = connection.execute(f"SELECT asked_{macro}(?)", [argument]).fetchall()
    return answer


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(changes=st.lists(st.tuples(TEXTS, TEXTS), max_size=6), names=st.lists(TEXTS, max_size=3), other=TEXTS)
def test_what_is_written_in_is_what_the_files_ask_for(
    memory: duckdb.DuckDBPyConnection, changes: list[tuple[str, str]], names: list[str], other: str
) -> None:
    memory.execute("BEGIN TRANSACTION")
    try:
        for number, (name, value) in enumerate(changes, 1):
            memory.execute(
                "INSERT INTO core.settings (changed_at, name, value) VALUES (now() + ? * INTERVAL 1 SECOND, ?, ?)",
                [number, name, value],
            )
        for name in names:
            memory.execute(
                "INSERT INTO core.detectors BY NAME SELECT * REPLACE (? AS detector) FROM core.detectors "
                "WHERE detector = 'default' AND NOT EXISTS (FROM core.detectors WHERE detector = ?)",
                [name, name],
            )
        for statement in constant_macros.statements(lambda sql: memory.execute(sql).fetchall()):
            memory.execute(statement)
        for macro in ("current_value", "is_detector", "only_way"):
            for argument in {"omega", "detector", "default", other, *(name for name, _ in changes), *names}:
                [(written,)] = memory.execute(f"SELECT marts.{macro}(?)", [argument]).fetchall()
                assert written == _by_query(memory, macro, argument), (macro, argument)
    finally:
        memory.execute("ROLLBACK")


@pytest.mark.parametrize("mart", ["verdicts", "runs", "discords", "version_verdicts", "axis_verdicts", "localisations"])
def test_a_mart_has_no_question_of_settings_or_detectors_in_its_plan(sample: Warehouse, mart: str) -> None:
    with sample.reading() as reader:
        [(_, plan)] = reader.rows(f"EXPLAIN (FORMAT json) FROM marts.{mart}")
    assert ".core.distances" in plan
    assert ".core.settings" not in plan


def test_another_value_is_in_force_in_its_own_transaction_and_not_if_that_fails(warehouse: Warehouse) -> None:
    asked = "SELECT marts.current_value('omega')"
    seen = []

    def fail() -> None:
        with warehouse.writing() as writer:
            seen.append(writer.value(asked))
            settings_table.change(writer, "omega", "3")
            seen.append(writer.value(asked))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with warehouse.writing() as writer:
        assert [*seen, writer.value(asked)] == ["0.75", "3.0", "0.75"]
        settings_table.change(writer, "omega", "3")
    with warehouse.reading() as reader:
        assert reader.value(asked) == "3.0"
        said = reader.value("SELECT comment FROM duckdb_functions() WHERE function_name = 'current_value'")
    assert said.startswith("The value in force of a setting")


def test_who_changed_the_table_alone_is_followed_at_the_next_write(warehouse: Warehouse) -> None:
    with warehouse.writing() as writer:
        writer.execute("INSERT INTO core.settings (changed_at, name, value) VALUES (now(), 'omega', '7.0')")
    with warehouse.writing() as writer:
        assert writer.value("SELECT marts.current_value('omega')") == "7.0"
