"""One file with the whole warehouse: the database as published and the files of its data folder that it names.

A backup is a tar of `perfreg.duckdb` and `data/…`. It is taken while writers go on: of the published copy, which does
not change while it is open, and of files that are never changed and stay for a day after nothing names them any more.
Registered traces, pages and Dagster's own records are not in it: pages are made again from the warehouse.
"""

from __future__ import annotations

import errno
import io
import os
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import duckdb

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.regular_file import resolved
from perfreg_assets.unwritable import refused_where_unwritable
from perfreg_assets.warehouse import migrations, tidying
from perfreg_assets.warehouse.connection import Reader, Warehouse
from perfreg_assets.warehouse.kept_instances import attached
from perfreg_assets.warehouse.value_files import is_what_was_written
from perfreg_assets.whole_files import part_beside, remove_dead_parts, whole_file

_DATABASE, _DATA = "perfreg.duckdb", "data"
_COPIED_BYTES = 1 << 20


@dataclass(frozen=True)
class Backup:
    """What is in a backup: runs, files of the data folder, and the bytes of the file itself.

    Attributes:
        replaced: where the database is kept in whose place this one was put.
    """

    run_count: int
    file_count: int
    file_bytes: int
    replaced: Path | None = None


def backup(warehouse: Warehouse, target: Path) -> Backup:
    """Writes the backup, as a whole or not at all; an earlier one of this name is replaced when the new one is there.
    A link stays one, and what it leads to is replaced.

    Raises:
        Rejected: WAREHOUSE_MISSING, WAREHOUSE_UNPUBLISHED, WAREHOUSE_UNREADABLE; DATA_MISSING: a file that the
            warehouse names is not there; BACKUP_NOT_A_FILE: the target is a device, a pipe, a folder, …;
            BACKUP_REPLACES_OTHER: a file that is no backup; FOLDER_UNWRITABLE; WAREHOUSE_DISK_FULL: its folder.
        OSError: the target cannot be written.
    """
    if not warehouse.published.is_file():
        raise warehouse.nothing_published()
    target = _place_of(target)
    with ExitStack() as stack:
        stack.enter_context(_refused_where_full(target.parent))
        with refused_where_unwritable(target.parent):
            target.parent.mkdir(parents=True, exist_ok=True)
            remove_dead_parts(target.parent)  # of backups that were killed: each is as large as the warehouse
            file = stack.enter_context(whole_file(target, is_durable=True))
        database = stack.enter_context(_copied(warehouse.published, target.parent))
        run_count, names = _contents(database)
        missing = [name for name in names if not warehouse.data.has(name)]
        if missing:
            raise Rejected(Reason.DATA_MISSING, f"{missing[0]}, and {len(missing) - 1} more, of {warehouse.path}")
        with tarfile.open(fileobj=file, mode="w") as archive:
            archive.add(database, _DATABASE)
            for name in names:
                content = warehouse.data.read(name)
                if not is_what_was_written(name, content):
                    wrong = f"it has {len(content):,} bytes, {names[name]:,} were written"
                    if len(content) == names[name]:
                        wrong = "its bytes are not those that were written"
                    raise Rejected(Reason.DATA_MISSING, f"{name} of {warehouse.path} is damaged: {wrong}")
                entry = tarfile.TarInfo(f"{_DATA}/{name}")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return Backup(run_count, len(names), target.stat().st_size)


@contextmanager
def _refused_where_full(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise Rejected(Reason.WAREHOUSE_DISK_FULL, f"no room for the backup in {folder}") from error


def _place_of(target: Path) -> Path:
    """Where the backup will lie: renaming to a link or a device would put the file in its place.

    Raises:
        Rejected: BACKUP_NOT_A_FILE, BACKUP_REPLACES_OTHER.
        OSError: its links lead in a circle.
    """
    if target.exists() and not target.is_file():  # before it is resolved: /dev/stdout leads to no path
        raise Rejected(Reason.BACKUP_NOT_A_FILE, f"{target} is there and no regular file")
    place = resolved(target)
    if place.is_file() and place.stat().st_size and not _is_backup(place):
        raise Rejected(Reason.BACKUP_REPLACES_OTHER, f"{target} is there and no backup")
    return place


def _is_backup(file: Path) -> bool:
    """Whether it begins as one."""
    try:
        with tarfile.open(file, "r:") as archive:
            first = archive.next()
    except tarfile.TarError:
        return False
    return first is not None and first.name == _DATABASE


def restore(warehouse: Warehouse, source: Path, *, is_replacing: bool = False) -> Backup:
    """Makes the warehouse what it was when the backup was taken.

    Files of the data folder come first: killed at any point, the warehouse is the old one or the restored one.

    Args:
        is_replacing: there is a warehouse already; its database is kept beside it, and with it what it names.

    Raises:
        Rejected: BACKUP_UNREADABLE, WAREHOUSE_EXISTS, WAREHOUSE_NEWER, WAREHOUSE_LOCKED, WAREHOUSE_DISK_FULL,
            FOLDER_UNWRITABLE and DATA_UNREACHABLE: where it, or its values, should lie.
    """
    if warehouse.is_there and not is_replacing:
        raise Rejected(Reason.WAREHOUSE_EXISTS, str(warehouse.path))
    parent, database = warehouse.path.parent, part_beside(warehouse.path)
    with refused_where_unwritable(parent):
        parent.mkdir(parents=True, exist_ok=True)
        remove_dead_parts(parent)  # of restores that were killed: each is as large as the warehouse
        database.touch()
    try:
        with _reading(source) as archive:
            run_count, names = _unpack(archive, database, warehouse)
        replaced = warehouse.take_over(database, before=lambda: _complete(source, names, warehouse))
    finally:
        database.unlink(missing_ok=True)
    return Backup(run_count, len(names), source.stat().st_size, replaced)


@contextmanager
def _reading(source: Path) -> Iterator[tarfile.TarFile]:
    """The backup; what fails while it is read, and its values are written, is refused with a reason."""
    try:
        with tarfile.open(source, "r:") as archive:
            yield archive
    except (tarfile.TarError, OSError, duckdb.Error) as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Rejected(Reason.WAREHOUSE_DISK_FULL, f"restoring {source}") from error
        raise Rejected(Reason.BACKUP_UNREADABLE, f"{source} ({str(error).splitlines()[0]})") from error


@contextmanager
def _copied(published: Path, folder: Path) -> Iterator[Path]:
    """One state of the published copy. While it is open nobody writes into it, and a newer one takes its name only."""
    place = part_beside(folder / published.name)
    try:
        with published.open("rb") as file, place.open("xb") as copy:
            while piece := file.read(_COPIED_BYTES):
                copy.write(piece)
            copy.flush()
            yield place
    finally:
        place.unlink(missing_ok=True)


def _contents(database: Path) -> tuple[int, dict[str, int]]:
    """How many runs a warehouse has, and the files of the data folder that it names with their bytes, in order.

    Raises:
        Rejected: WAREHOUSE_NEWER, WAREHOUSE_ALTERED.
    """
    with attached(database) as connection:
        migrations.refuse_newer(connection)
        reader = Reader(connection)
        return int(reader.value("SELECT count(*) FROM core.runs")), dict(sorted(tidying.named_files(reader).items()))


def _unpack(archive: tarfile.TarFile, database: Path, warehouse: Warehouse) -> tuple[int, dict[str, int]]:
    """Puts the database aside and the other files into the data folder; the `_contents` of the database.

    It comes first in every backup: one that is of no use here is refused before any value is written.

    Raises:
        Rejected: as `_contents`, and as writing values does.
        TarError, OSError, duckdb.Error: it is no backup.
    """
    contents: tuple[int, dict[str, int]] | None = None
    for entry in archive:
        stream = archive.extractfile(entry) if entry.isreg() else None
        parts = PurePosixPath(entry.name).parts
        if stream is None or ".." in parts or PurePosixPath(entry.name).is_absolute():
            raise tarfile.TarError(f"{entry.name!r} is no file of a backup")
        if entry.name == _DATABASE and contents is None:
            with database.open("wb") as file:
                while piece := stream.read(_COPIED_BYTES):
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            contents = _contents(database)
        elif contents is not None and parts[0] == _DATA and len(parts) > 1:
            _put("/".join(parts[1:]), stream.read(), warehouse)
        else:
            raise tarfile.TarError(f"{entry.name!r} is no file of a backup")
    if contents is None:
        raise tarfile.TarError(f"there is no {_DATABASE} in it")
    return contents


def _put(name: str, content: bytes, warehouse: Warehouse) -> None:
    # Or it would take the place of a good file, which the warehouse that is there names as well.
    if not is_what_was_written(name, content):
        raise tarfile.TarError(f"{_DATA}/{name} is damaged: its bytes are not those that were written")
    if not warehouse.data.has(name) or warehouse.data.read(name) != content:
        warehouse.data.write(name, content)


def _complete(source: Path, names: Iterable[str], warehouse: Warehouse) -> None:
    """Puts back what was tidied away before the writers' lock was had: until now nothing named it.

    Raises:
        Rejected: BACKUP_UNREADABLE: the backup lacks a file that its database names; WAREHOUSE_DISK_FULL.
    """
    gone = {name for name in names if not warehouse.data.has(name)}
    if not gone:
        return
    with _reading(source) as archive:
        for entry in archive:
            name = entry.name.removeprefix(f"{_DATA}/")
            if name in gone and (stream := archive.extractfile(entry)) is not None:
                _put(name, stream.read(), warehouse)
                gone.remove(name)
    if gone:
        raise Rejected(Reason.BACKUP_UNREADABLE, f"{source} lacks {min(gone)}")
