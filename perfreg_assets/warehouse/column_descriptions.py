"""What columns mean: sql/columns.toml holds one description per name, true wherever the name occurs.

`migrate` puts them on every column of the schemas core and marts, so that a client sees them; the dictionary of the
marts is made of them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache

import duckdb

from perfreg_assets.bundled import sql_dir
from perfreg_assets.warehouse.literals import literal

FILE_NAME = "columns.toml"


@cache
def of_release() -> Mapping[str, str]:
    """Column name -> description, of the installation."""
    return tomllib.loads((sql_dir() / FILE_NAME).read_text(encoding="utf-8"))


def apply(connection: duckdb.DuckDBPyConnection, descriptions: Mapping[str, str]) -> None:
    """Comments on every column of core and marts.

    Raises:
        ValueError: a column has no description: a mistake in the release, not in data.
    """
    columns = connection.execute(
        "SELECT schema_name, table_name, column_name, comment FROM duckdb_columns() "
        "WHERE schema_name IN ('core', 'marts') AND NOT internal ORDER BY ALL"
    ).fetchall()
    for schema, table, column, comment in columns:
        if column not in descriptions:
            raise ValueError(f"{schema}.{table}.{column} has no description; add one to sql/{FILE_NAME}")
        if comment != descriptions[column]:
            text = literal(descriptions[column])
            connection.execute(f'COMMENT ON COLUMN {schema}.{table}."{column}" IS {text}')
