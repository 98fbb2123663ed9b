"""A warehouse that is told of another data folder than it was written with last: its values have to be there, or the
command was given another PERFREG_DATA than all others, and what it wrote nobody else would find.
"""

from __future__ import annotations

import duckdb

from perfreg_assets.how_many import how_many
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse.data_folder import DataFolder
from perfreg_assets.warehouse.value_files import Place, name_of


def require_values(connection: duckdb.DuckDBPyConnection, data: DataFolder) -> None:
    """Checks it before anything is written. Most of the files do: of those that were lost before nobody speaks here.

    Args:
        connection: to a warehouse in which it stands where the folder was.

    Raises:
        Rejected: DATA_MISSING, with the place where the values were; DATA_UNREACHABLE.
    """
    rows = connection.execute(
        "SELECT kind, app, month, values_file FROM core.value_files WHERE dropped_at IS NULL"
    ).fetchall()
    if not rows:
        return
    there = {found.name for found in data.listing()}
    count = sum(name_of(kind, Place(app, month), file) in there for kind, app, month, file in rows)
    if 2 * count < len(rows):
        files = f"{count or 'none'} of the {how_many(len(rows), 'file')} of values"
        detail = f"{data.root} has {files}, which were written to {_before(connection)} (PERFREG_DATA names the place)"
        raise Rejected(Reason.DATA_MISSING, detail)


def _before(connection: duckdb.DuckDBPyConnection) -> str:
    """Where the folder was, as DuckDB's file functions take it."""
    # By a cursor, which has not heard of this process' folder: variables are a connection's own.
    cursor = connection.cursor()
    [(name,)] = connection.execute("SELECT current_database()").fetchall()
    cursor.execute(f'USE "{name}"')
    [(pattern,)] = cursor.execute("SELECT core.data_files('')").fetchall()
    return str(pattern).removesuffix("//**/*.parquet")
