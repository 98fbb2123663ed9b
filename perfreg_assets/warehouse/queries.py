"""Queries that people type: read-only by the published copy, one statement, errors in one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import duckdb

from perfreg_assets.warehouse import told_values
from perfreg_assets.warehouse.connection import DAMAGE, Reader

_READING = {duckdb.StatementType.SELECT, duckdb.StatementType.MULTI}  # the latter is PIVOT
_EXPLAIN = re.compile(r"\s*EXPLAIN\s*(ANALYZE\b|\([^()]*\))?\s*", re.IGNORECASE)


def _require_reading(sql: str) -> None:
    """The data folder is open to queries, and DuckDB knows no folder that can only be read: COPY could write there."""
    statements = duckdb.extract_statements(sql)
    if len(statements) != 1:
        told = (
            "it is empty" if not statements else f"it is {len(statements)} statements, and only the last would be shown"
        )
        raise ValueError(f"the query was refused: {told}; give one")
    for statement in statements:
        kind, text = statement.type, statement.query
        if kind == duckdb.StatementType.EXPLAIN and (prefix := _EXPLAIN.match(text)):
            kind = duckdb.extract_statements(text[prefix.end() :])[0].type
        if kind not in _READING:
            raise ValueError(f"the query was refused: {kind.name} is not reading; use SELECT, FROM, WITH or EXPLAIN")


def run_query(reader: Reader, sql: str) -> tuple[list[dict[str, Any]], list[str]]:
    """(rows, column names) of a query; of columns with the same name the later ones are `name_1`, `name_2` …

    Raises:
        ValueError: DuckDB refuses it, the text is DuckDB's own first lines; or it would do more than read.
        duckdb.Error: the warehouse is damaged where the query reads it.
    """
    try:
        _require_reading(sql)
        found = reader.relation(sql)
        table = told_values.with_all_of_it(found).to_arrow_table()
    except duckdb.Error as error:
        if _is_damage(error):
            raise
        raise ValueError(f"the query was refused: {' '.join(str(error).split())[:500]}") from error
    names = _told_apart(found.columns)
    try:
        rows = table.rename_columns(names).to_pylist()
    except OverflowError as error:  # Python's dates end there, DuckDB's do not
        raise ValueError(
            "the query was refused: a time or date in its result lies outside of the years 1 to 9999; "
            "cast it to text (the_column::VARCHAR)"
        ) from error
    kinds = {name: kind for name, kind in zip(names, found.types, strict=True) if told_values.is_told_otherwise(kind)}
    for row in rows:
        row.update({name: told_values.told(row[name], kind) for name, kind in kinds.items()})
    return rows, names


def _is_damage(error: duckdb.Error) -> bool:
    """Of the database's own file; a query can name other files, which are not there."""
    is_of_other_file = isinstance(error, duckdb.IOException) and not re.search(r"\.duckdb|Corrupt database", str(error))
    return isinstance(error, DAMAGE) and not is_of_other_file


def _told_apart(names: Sequence[str]) -> list[str]:
    """Columns of one name get a number, as DuckDB numbers those of a subquery: rows know their values by name."""
    found: list[str] = []
    for name in names:
        told = (name, *(f"{name}_{number}" for number in range(1, len(names) + 1)))
        found.append(next(one for one in told if one not in found and (one == name or one not in names)))
    return found
