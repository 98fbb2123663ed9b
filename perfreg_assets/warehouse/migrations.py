"""Forward-only schema: numbered files of sql/migrations, each applied once and remembered with its hash.

The marts (sql/marts) and the views below them on the data folder (sql/values) are rebuilt as a whole when any of their
files, the place of that folder or the descriptions of columns (sql/columns.toml) changed, because they hold no data.
What SQL must know of the code stands in reference tables that are kept equal to it.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import duckdb

from perfreg_assets import __version__
from perfreg_assets.bundled import sql_dir
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import column_descriptions, data_folder, reference_tables, without_indexes
from perfreg_assets.warehouse.data_folder import DataFolder

_MIGRATION_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
PLACE = "data_files.sql"  # of sql/values: where the data folder is
_DEPENDS = re.compile(r"^--\s*depends:\s*(.*)$", re.MULTILINE)


def _move_values(connection: duckdb.DuckDBPyConnection, data: DataFolder) -> None:
    from perfreg_assets.warehouse import move_values  # noqa: PLC0415  (Arrow, which most commands do not need)

    move_values.before(connection, data)


def _move_steps(connection: duckdb.DuckDBPyConnection, data: DataFolder) -> None:
    from perfreg_assets.warehouse import move_steps  # noqa: PLC0415  (as above)

    move_steps.before(connection, data)


# What some migrations, by name, do before their SQL and in the same transaction.
_STEPS: dict[str, Callable[[duckdb.DuckDBPyConnection, DataFolder], None]] = {
    "values_outside": _move_values,
    "method_energies": _move_steps,
    "without_indexes": lambda connection, _: without_indexes.before(connection),
}

# The settings that decide which verdict is the current one; a new warehouse starts with the release's defaults.
_SEEDED_SETTINGS = ("detector", "omega", "localisation")

_BOOK_COMMENT = "A row is a migration that was applied to this file."
_WRITTEN_BY = "The last one by perfreg "

# Before the first migration there is no table to remember it in.
_BOOKKEEPING = """
CREATE SCHEMA IF NOT EXISTS core;
CREATE TABLE IF NOT EXISTS core.schema_version (
    version    INTEGER NOT NULL PRIMARY KEY CHECK (version > 0),
    name       VARCHAR NOT NULL,
    sha256     VARCHAR NOT NULL,
    applied_at TIMESTAMPTZ NOT NULL
);
CREATE TABLE IF NOT EXISTS core.mart_files (
    name       VARCHAR NOT NULL PRIMARY KEY,
    sha256     VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE core.mart_files IS 'A row is a file that schema marts was made of: of sql/marts, and columns.toml.';
"""


@dataclass(frozen=True)
class SqlFile:
    """One file of sql."""

    name: str
    text: str

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def migrate(
    connection: duckdb.DuckDBPyConnection, *, folder: Path | None = None, data: DataFolder | None = None
) -> bool:
    """Brings an open warehouse to this release's schema, each migration in its own transaction; True if it changed.

    Args:
        folder: holds `migrations/`, `values/`, `marts/` and `columns.toml`; default: those of the installation.
        data: the data folder, whose place is written into the file; default: one that ends with this process.

    Raises:
        Rejected: WAREHOUSE_NEWER, WAREHOUSE_ALTERED; the file is left as it was.
        ValueError: a column has no description: a mistake in the release.
    """
    from perfreg_assets.warehouse import value_files  # noqa: PLC0415  (Arrow, which readers do not need)

    folder, data = folder or sql_dir(), data or data_folder.of_process()
    value_files.prepare(data)
    is_migrated = apply_all(connection, migration_files(folder / "migrations"), data)
    there = dict(connection.execute("SELECT name, sha256 FROM core.mart_files").fetchall())
    is_placed = _place_data(connection, folder / "values", data, there.pop(PLACE, None))
    is_filled = _fill_reference_tables(connection, there.pop(reference_tables.NAME, None))
    is_rebuilt = _rebuild_marts(connection, folder, there)
    return is_migrated or is_placed or is_filled or is_rebuilt


def _place_data(connection: duckdb.DuckDBPyConnection, folder: Path, data: DataFolder, there: str | None) -> bool:
    """Writes down where the data folder is; the views on it stay as they are. Not of one with none of the files that it
    should hold, as of a command without PERFREG_DATA: those who read by the file alone go on finding them."""
    from perfreg_assets.warehouse import value_files  # noqa: PLC0415  (as above)

    text = (folder / PLACE).read_text(encoding="utf-8").replace("$root", data.root.replace("'", "''"))
    file = SqlFile(PLACE, text)
    if there == file.sha256:
        return False
    if there is not None and value_files.missing_altogether(lambda sql: connection.execute(sql).fetchall(), data):
        return False
    with _transaction(connection):
        connection.execute(file.text)
        connection.execute("DELETE FROM core.mart_files WHERE name = ?", [PLACE])
        connection.execute("INSERT INTO core.mart_files VALUES (?, ?, now())", [PLACE, file.sha256])
    return True


def _fill_reference_tables(connection: duckdb.DuckDBPyConnection, there: str | None) -> bool:
    sha256 = reference_tables.sha256()
    if there == sha256:  # every write asks: one look at a hash instead of at three tables
        return False
    with _transaction(connection):
        reference_tables.fill(connection)
        connection.execute("DELETE FROM core.mart_files WHERE name = ?", [reference_tables.NAME])
        connection.execute("INSERT INTO core.mart_files VALUES (?, ?, now())", [reference_tables.NAME, sha256])
    return True


def apply_all(connection: duckdb.DuckDBPyConnection, files: dict[int, SqlFile], data: DataFolder | None = None) -> bool:
    """Applies the migrations that were not applied yet; True if there were any.

    Raises:
        Rejected: WAREHOUSE_NEWER, WAREHOUSE_ALTERED; the file is left as it was.
    """
    done = _check_applied(connection, files) if _has_bookkeeping(connection) else set()
    for version, file in files.items():
        if version not in done:
            _apply(connection, version, file, data or data_folder.of_process())
    return len(done) < len(files)


def latest_version() -> int:
    """Version of this release's schema."""
    return max(migration_files(sql_dir() / "migrations"))


def refuse_newer(connection: duckdb.DuckDBPyConnection) -> None:
    """Raises Rejected (WAREHOUSE_NEWER, WAREHOUSE_ALTERED) for an open warehouse that this release cannot bring on."""
    _check_applied(connection, migration_files(sql_dir() / "migrations"))


def is_behind(rows: Callable[[str], list[tuple[Any, ...]]]) -> bool:
    """Whether a warehouse lacks migrations or marts of this release; one of a later release is not behind.

    Args:
        rows: runs a query on the warehouse.
    """
    [(version,)] = rows("SELECT max(version) FROM core.schema_version")
    if version != latest_version():
        return bool(version < latest_version())
    there = dict(rows("SELECT name, sha256 FROM core.mart_files"))
    return any(there.get(file.name) != file.sha256 for file in _made_of(sql_dir()))


def migration_files(folder: Path) -> dict[int, SqlFile]:
    """Version -> file, in order.

    Raises:
        ValueError: a name does not fit, or a number is missing or double: a mistake in the release, not in data.
    """
    found: dict[int, SqlFile] = {}
    for path in sorted(folder.glob("*.sql")):
        match = _MIGRATION_NAME.fullmatch(path.name)
        if match is None or int(match[1]) in found:
            raise ValueError(f"{path}: migrations are named 0001_what_it_does.sql, each number once")
        found[int(match[1])] = SqlFile(path.name, path.read_text(encoding="utf-8"))
    if list(found) != list(range(1, len(found) + 1)):
        raise ValueError(f"{folder}: migrations must be numbered from 1 without gaps, found {sorted(found)}")
    return found


def mart_files(folder: Path) -> list[SqlFile]:
    """The files of sql/marts, each after those named in its header line `-- depends: a, b`.

    Raises:
        ValueError: a file depends on one that is not there, or on itself through others.
    """
    files = {path.stem: SqlFile(path.name, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.sql"))}
    ordered: dict[str, SqlFile] = {}

    def place(name: str, chain: tuple[str, ...]) -> None:
        if name in ordered:
            return
        if name not in files or name in chain:
            raise ValueError(f"marts: {' -> '.join((*chain, name))} cannot be ordered; correct the depends: header")
        for needed in _depends(files[name].text):
            place(needed, (*chain, name))
        ordered[name] = files[name]

    for name in files:
        place(name, ())
    return list(ordered.values())


def _made_of(folder: Path) -> list[SqlFile]:
    """All that schema marts is made of, in order: views on large values, marts, and the descriptions of columns."""
    return _made_of_release() if folder == sql_dir() else _read_made_of(folder)


@cache
def _made_of_release() -> list[SqlFile]:
    """Of the installation: every write asks, and a hundred files that do not change need not be read again."""
    return _read_made_of(sql_dir())


def _read_made_of(folder: Path) -> list[SqlFile]:
    described = SqlFile(column_descriptions.FILE_NAME, (folder / column_descriptions.FILE_NAME).read_text("utf-8"))
    return [*_value_views(folder / "values"), *mart_files(folder / "marts"), described]


def _value_views(folder: Path) -> list[SqlFile]:
    """The files of sql/values that read the data folder."""
    names = (path for path in sorted(folder.glob("*.sql")) if path.name != PLACE)
    return [SqlFile(path.name, path.read_text(encoding="utf-8")) for path in names]


def _depends(text: str) -> list[str]:
    match = _DEPENDS.search(text)
    return [] if match is None else [name.strip() for name in match[1].split(",") if name.strip()]


def _has_bookkeeping(connection: duckdb.DuckDBPyConnection) -> bool:
    try:
        connection.execute("SELECT version FROM core.schema_version LIMIT 0")
    except duckdb.CatalogException:  # a new file: ten times quicker than to ask the catalogue, at every write
        return False
    return True


def _check_applied(connection: duckdb.DuckDBPyConnection, files: dict[int, SqlFile]) -> set[int]:
    applied = connection.execute("SELECT version, name, sha256 FROM core.schema_version ORDER BY version").fetchall()
    for version, name, sha256 in applied:
        if version not in files:
            detail = (
                f"the warehouse has schema version {version} ({name}){_release_of(connection)}, this release "
                f"({__version__}) knows up to {len(files)}"
            )
            raise Rejected(Reason.WAREHOUSE_NEWER, detail)
        if files[version].sha256 != sha256:
            detail = f"migration {name} was applied as {sha256[:12]}, the file is now {files[version].sha256[:12]}"
            raise Rejected(Reason.WAREHOUSE_ALTERED, detail)
    return {version for version, _, _ in applied}


def _release_of(connection: duckdb.DuckDBPyConnection) -> str:
    """Of the release that brought a file to its schema, as far as the file says."""
    found = connection.execute(
        "SELECT comment FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'core' "
        "AND table_name = 'schema_version'"
    ).fetchall()
    release = next((str(comment).partition(_WRITTEN_BY)[2] for (comment,) in found), "")
    return f" by perfreg {release}: install that or a later one" if re.fullmatch(r"[\w.+-]{1,40}", release) else ""


def _apply(connection: duckdb.DuckDBPyConnection, version: int, file: SqlFile, data: DataFolder) -> None:
    with _transaction(connection):
        if version == 1:
            connection.execute(_BOOKKEEPING)
        step = _STEPS.get(Path(file.name).stem.partition("_")[2])
        if step is not None:
            step(connection, data)
        connection.execute(file.text)
        connection.execute("INSERT INTO core.schema_version VALUES (?, ?, ?, now())", [version, file.name, file.sha256])
        # A comment, because releases that know no more than this migration must be able to read it.
        connection.execute(f"COMMENT ON TABLE core.schema_version IS '{_BOOK_COMMENT} {_WRITTEN_BY}{__version__}'")
        connection.execute("DELETE FROM core.mart_files")  # they are made anew, and new columns described
        if version == 1:
            _seed_settings(connection)


def _seed_settings(connection: duckdb.DuckDBPyConnection) -> None:
    defaults = Settings()
    for name in _SEEDED_SETTINGS:
        connection.execute(
            "INSERT INTO core.settings (changed_at, name, value, note) VALUES (now(), ?, ?, 'default of the release')",
            [name, str(getattr(defaults, name))],
        )


def _rebuild_marts(connection: duckdb.DuckDBPyConnection, folder: Path, there: dict[str, str]) -> bool:
    *files, described = made_of = _made_of(folder)
    if there == {file.name: file.sha256 for file in made_of}:
        return False
    with _transaction(connection):
        connection.execute("DROP SCHEMA IF EXISTS marts CASCADE")
        connection.execute("CREATE SCHEMA marts")
        connection.execute("DELETE FROM core.mart_files WHERE name NOT IN (?, ?)", [reference_tables.NAME, PLACE])
        for file in files:
            connection.execute(file.text)
        column_descriptions.apply(connection, tomllib.loads(described.text))
        for file in made_of:
            connection.execute("INSERT INTO core.mart_files VALUES (?, ?, now())", [file.name, file.sha256])
    return True


@contextmanager
def _transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    connection.execute("BEGIN TRANSACTION")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A fatal error has ended the transaction already; the first error is the one to report.
        with suppress(duckdb.Error):
            connection.execute("ROLLBACK")
        raise
