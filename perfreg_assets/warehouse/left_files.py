"""Files of values that lie in the data folder though the warehouse never wrote them: those of a database that another
one took the place of. In the list they are known by where they lie, so that none is written in a second place."""

from __future__ import annotations

from pathlib import Path

import duckdb

from perfreg_assets.warehouse.kept_instances import attached

_LISTED = "SELECT values_file, kind, app, month, row_count, file_bytes, written_at FROM core.value_files"
_NOTED = """
INSERT INTO core.value_files (values_file, kind, app, month, row_count, file_bytes, written_at, dropped_at)
SELECT values_file, kind, app, month, row_count, file_bytes, written_at, now()
FROM left_files ANTI JOIN core.value_files USING (values_file)
"""


def note(connection: duckdb.DuckDBPyConnection, aside: Path) -> None:
    """Lists what the database put aside lists, as files that no row names: a run that is given again writes the same
    file, by now perhaps for another month.

    Args:
        connection: to the database in its place, of this release's schema.
    """
    try:
        with attached(aside) as other:
            found = other.sql(_LISTED).to_arrow_table()
    except duckdb.Error:  # damaged, which was said when it was put aside, or of a release that had no such files
        return
    connection.register("left_files", found)
    connection.execute(_NOTED)
    connection.unregister("left_files")
