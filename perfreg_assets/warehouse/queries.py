"""Queries that people type: read-only by the published copy, one statement, errors in one line."""

from __future__ import annotations

import re
from typing import Any

import duckdb

from perfreg_assets.warehouse.connection import Reader

_READING = {duckdb.StatementType.SELECT, duckdb.StatementType.MULTI}  # the latter is PIVOT
_EXPLAIN = re.compile(r"\s*EXPLAIN\s*(ANALYZE\b|\([^()]*\))?\s*", re.IGNORECASE)


def _require_reading(sql: str) -> None:
    """The data folder is open to queries, and DuckDB knows no folder that can only be read: COPY could write there."""
    for statement in duckdb.extract_statements(sql):
        kind, text = statement.type, statement.query
        if kind == duckdb.StatementType.EXPLAIN and (prefix := _EXPLAIN.match(text)):
            kind = duckdb.extract_statements(text[prefix.end() :])[0].type
        if kind not in _READING:
            raise ValueError(f"the query was refused: {kind.name} is not reading; use SELECT, FROM, WITH or EXPLAIN")


def run_query(reader: Reader, sql: str) -> tuple[list[dict[str, Any]], list[str]]:
    """(rows, column names) of a query.

    Raises:
        ValueError: DuckDB refuses it, the text is DuckDB's own first lines; or it would do more than read.
    """
    try:
        _require_reading(sql)
        table = reader.arrow(sql)
    except duckdb.Error as error:
        raise ValueError(f"the query was refused: {' '.join(str(error).split())[:500]}") from error
    names = list(table.column_names)
    return table.to_pylist(), names
