"""Many small files of values become few: each write adds some, and a reader of many runs opens them all.

A joined file is a new one, named like every other; the rows are pointed to it in the transaction that
joins, and the files that they named before stay until `tidying` deletes them.
"""

from __future__ import annotations

from perfreg_assets.warehouse import value_files, values
from perfreg_assets.warehouse.connection import Writer
from perfreg_assets.warehouse.value_files import Kind, Place

SMALL_BYTES = 4 << 20
"""A file below this size is joined with others; a larger one stays for good."""

SMALL_FILES = 16
"""How many small files of a kind an app and month may have before a write joins them."""


def join_crowded(writer: Writer, kind: Kind, *, most: int = SMALL_FILES) -> int:
    """Joins the small files wherever an app and month has more than `most` of them; the number of files joined.

    Call it when the rows that name the newest files are stored.
    """
    crowded = writer.rows(
        "SELECT app, month, list(values_file ORDER BY values_file) FROM core.value_files "
        "WHERE kind = ? AND dropped_at IS NULL AND file_bytes < ? GROUP BY app, month HAVING count(*) > ?",
        [kind.name, SMALL_BYTES, most],
    )
    for app, month, files in crowded:
        _join(writer, kind, Place(app, month), files)
    return sum(len(files) for _, _, files in crowded)


def _join(writer: Writer, kind: Kind, place: Place, files: list[str]) -> None:
    """Writes what rows name in the files into one, or into some large ones."""
    same = " AND ".join(f"named.{key} = stored.{key}" for key in kind.keys)
    columns = ", ".join(f'stored."{column}"' for column in kind.columns.names)
    rows = values.read(
        writer,
        f"SELECT {columns} FROM {{files}} AS stored "
        f"SEMI JOIN {kind.table} AS named ON named.values_file = stored.values_file AND {same} "
        f"ORDER BY {', '.join(kind.order)}",
        values.paths(writer, files),
        {},
    )
    writer.execute(
        "UPDATE core.value_files SET dropped_at = now() WHERE values_file IN (SELECT unnest(?::VARCHAR[]))", [files]
    )
    keys = rows.column(kind.key).unique().to_pylist()
    for written in value_files.write(writer.data, kind, rows, dict.fromkeys(keys, place)):
        values.register(writer, written)
        writer.execute(
            f"UPDATE {kind.table} SET values_file = $new WHERE values_file IN (SELECT unnest($old::VARCHAR[])) "
            f"AND {kind.key} IN (SELECT unnest($keys::VARCHAR[]))",
            {"new": written.file, "old": files, "keys": list(written.keys)},
        )
