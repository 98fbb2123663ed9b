"""Queries that people type: read-only by the published copy, one statement, errors in one line."""

from __future__ import annotations

from typing import Any

import duckdb

from perfreg_assets.warehouse.connection import Reader


def run_query(reader: Reader, sql: str) -> tuple[list[dict[str, Any]], list[str]]:
    """(rows, column names) of a query.

    Raises:
        ValueError: DuckDB refuses it; the text is DuckDB's own first lines.
    """
    try:
        table = reader.arrow(sql)
    except duckdb.Error as error:
        raise ValueError(f"the query was refused: {' '.join(str(error).split())[:500]}") from error
    names = list(table.column_names)
    return table.to_pylist(), names
