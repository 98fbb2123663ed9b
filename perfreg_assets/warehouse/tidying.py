"""Keeping the data folder small: joins small files, and deletes what nobody needs any more.

A file is deleted when no row of the written and of the published warehouse names it, nor of those that restoring put
aside, and that for `GRACE`: so long a reader may work with a published state that was replaced meanwhile. Killed at any
point it leaves at most files that no row names, which the next time deletes.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

from perfreg_assets.how_many import how_many
from perfreg_assets.warehouse import data_owner, joining, value_files
from perfreg_assets.warehouse.connection import Reader, Warehouse, Writer
from perfreg_assets.warehouse.kept_instances import attached
from perfreg_assets.warehouse.put_aside import replaced
from perfreg_assets.warehouse.value_files import KINDS, Place

_LOG = logging.getLogger(__name__)
_TABLES = """
SELECT 'core.' || table_name FROM duckdb_columns()
WHERE schema_name = 'core' AND column_name = 'values_file' AND database_name = current_database()
"""
GRACE = timedelta(days=1)
"""How long a file stays that no row names any more."""


@dataclass(frozen=True)
class Tidied:
    """What was done.

    Attributes:
        missing: files that rows name and that are not there, by their path below the data folder.
        waiting: files that no row names and that stay for now.
    """

    joined: int
    deleted: int
    waiting: int
    missing: tuple[str, ...]

    @property
    def lack(self) -> str:
        """What is said of missing files. To ingest their runs again would not write them: those are known."""
        files = how_many(len(self.missing), "file")
        return (
            f"the data folder lacks {files} that the warehouse names, such as {self.missing[0]}; bring the folder back "
            "from a copy, or the whole warehouse from a backup (`perfreg restore FILE --replace`)"
        )


def tidy(warehouse: Warehouse, *, grace: timedelta = GRACE) -> Tidied:
    """Joins small files and deletes files that no row has named for the time of grace, in one transaction.

    Raises:
        Rejected: as `Warehouse.writing`; DATA_MISSING: files to be joined are not there.
    """
    with warehouse.writing() as writer:
        named = _named(writer)
        deleted, missing = _delete(warehouse, writer, named, datetime.now(UTC) - grace)
        writer.execute(
            "UPDATE core.value_files SET dropped_at = CASE WHEN values_file IN (SELECT unnest(?::VARCHAR[])) "
            "THEN NULL ELSE least(coalesce(dropped_at, now()), now()) END",  # a clock may have been set back since
            [sorted(named)],
        )
        joined = 0 if missing else sum(joining.join_crowded(writer, kind, most=1) for kind in KINDS)
        waiting = writer.value("SELECT count(*) FROM core.value_files WHERE dropped_at IS NOT NULL")
    return Tidied(joined, deleted, waiting, tuple(missing))


def _named(reader: Reader) -> set[str]:
    """The files that rows name; of an earlier schema by the tables that it has."""
    there = {table for (table,) in reader.rows(_TABLES)}
    tables = " UNION ".join(f"SELECT values_file FROM {kind.table}" for kind in KINDS if kind.table in there)
    if not tables:
        return set()
    return {file for (file,) in reader.rows(tables) if file is not None}


def named_files(reader: Reader) -> dict[str, int]:
    """The files that rows name, by their path below the data folder → how many bytes were written."""
    named = _named(reader)
    if not named:  # an earlier schema may have no list either
        return {}
    rows = reader.rows("SELECT values_file, kind, app, month, file_bytes FROM core.value_files")
    return {
        value_files.name_of(kind, Place(app, month), file): count
        for file, kind, app, month, count in rows
        if file in named
    }


def _delete(warehouse: Warehouse, writer: Writer, named: set[str], before: datetime) -> tuple[int, list[str]]:
    """Deletes files; (how many, what is named and not there)."""
    rows = writer.rows("SELECT values_file, kind, app, month, dropped_at FROM core.value_files")
    listed = {value_files.name_of(kind, Place(app, month), file): (file, at) for file, kind, app, month, at in rows}
    own = {name for name, (file, _) in listed.items() if file in named}
    in_use = own.union(_published(warehouse), *(_kept(database) for database in replaced(warehouse.path)))
    there = {found.name: found.changed_at for found in writer.data.listing()}
    gone = [name for name, (_, at) in listed.items() if at is not None and at < before and name not in in_use]
    # What a writer that was killed left: in no list, or only the half of a file; and what lies in a second place.
    strays = [
        name
        for name, changed_at in there.items()
        if name not in listed
        and name not in value_files.EMPTY_FILES
        and name != data_owner.FILE
        and changed_at < before
        and name not in in_use
    ]
    # A file that is deleted while its row comes back with a transaction that fails is deleted again the next time.
    writer.data.delete([*gone, *strays])
    writer.execute(
        "DELETE FROM core.value_files WHERE values_file IN (SELECT unnest(?::VARCHAR[]))",
        [[listed[name][0] for name in gone]],
    )
    missing = sorted(own - there.keys())
    return len(gone) + len(strays), missing


def _published(warehouse: Warehouse) -> set[str]:
    if not warehouse.published.exists():
        return set()
    with warehouse.reading() as reader:
        return set(named_files(reader))


def _kept(database: Path) -> set[str]:
    """What a database names that restoring put aside: it is of no use without."""
    try:
        with attached(database) as connection:
            return set(named_files(Reader(connection)))
    except duckdb.Error as error:
        _LOG.warning("%s cannot be read (%s): what only it names is deleted", database, str(error).splitlines()[0])
        return set()
