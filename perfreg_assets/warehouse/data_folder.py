"""The folder of large values beside the warehouse: files that are written once, whole or not at all, and never changed.

It is a folder of this machine or, through fsspec, a place in an object store (`s3://bucket/prefix`). A file's name is
made of its place and content, so a file that is there holds what its name says, and to write it again changes nothing.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from perfreg_assets.objects import Objects
from perfreg_assets.own_scratch import make_folder
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.unwritable import refused_where_unwritable
from perfreg_assets.warehouse.literals import literal
from perfreg_assets.whole_files import sync_directory, write_whole

if TYPE_CHECKING:
    import duckdb

_URL = re.compile(r"[a-z][a-z0-9+.-]+://")
_WILD = re.compile(r"([*?\[])")


@dataclass(frozen=True)
class Found:
    """A file of the folder: its name below it, with slashes, and since when it has been as it is."""

    name: str
    changed_at: datetime


class DataFolder:
    """A folder of this machine (`place` is a path) or of an object store (`place` is a URL that fsspec knows)."""

    def __init__(self, place: Path | str) -> None:
        """Opens nothing yet."""
        text = str(place).rstrip("/")
        self.root = text if _URL.match(text) else str(Path(text).absolute())
        self.is_local = self.root == str(Path(text).absolute())
        self._opened: Objects | None = None

    def path(self, name: str) -> str:
        """Where a file is, as DuckDB's file functions take it: they would read `*`, `?` and `[` as patterns."""
        return f"{_literally(self.root)}/{name}"

    def allow(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Lets a connection reach this folder, also after everything else outside is forbidden to it."""
        folders = {self.root, _literally(self.root)}  # patterns are checked as well as the files that they find
        if not self.is_local:
            store = self._objects()
            connection.register_filesystem(store.filesystem)
            folders.add(f"{self.root.partition('://')[0]}://{store.root}")  # as the file system itself writes it
        connection.execute("SET VARIABLE perfreg_data = ?", [self.root])
        listed = ", ".join(literal(f"{folder}/") for folder in sorted(folders))
        connection.execute(f"SET allowed_directories = [{listed}]")
        # So many files a query may name to DuckDB, instead of a span of names, which with hashes is all of them: 200
        # runs in 1,000 files are 25 MB read, not 126.
        connection.execute("SET dynamic_or_filter_threshold = 10000")

    def has(self, name: str) -> bool:
        """Whether the file is there."""
        if self.is_local:
            return (Path(self.root) / name).is_file()
        return self._objects().has(name)

    def size(self, name: str) -> int | None:
        """Bytes of the file; None where it is not there."""
        if not self.is_local:
            return self._objects().size(name)
        try:
            return (Path(self.root) / name).stat().st_size
        except FileNotFoundError:
            return None

    def read(self, name: str) -> bytes:
        """All of a file.

        Raises:
            OSError: it cannot be read, here.
            Rejected: DATA_UNREACHABLE, in an object store.
        """
        return (Path(self.root) / name).read_bytes() if self.is_local else self._objects().read(name)

    def write(self, name: str, content: bytes) -> None:
        """Makes the file, durably: after this returns it survives a loss of power, before that nobody sees it.

        Raises:
            Rejected: WAREHOUSE_DISK_FULL, FOLDER_UNWRITABLE; in an object store DATA_UNREACHABLE.
        """
        if self.is_local:
            _write(Path(self.root), name, content)
            return
        try:
            self._objects().write(name, content)
        except FileNotFoundError as error:  # of a bucket; no object has to be there before
            raise Rejected(Reason.DATA_UNREACHABLE, f"{self.root} ({error})") from error

    def delete(self, names: Iterable[str]) -> None:
        """Removes files; one that is not there is no error."""
        if not self.is_local:
            self._objects().delete(names)
            return
        for name in names:
            path = Path(self.root) / name
            path.unlink(missing_ok=True)
            with suppress(OSError):  # its folder holds another file
                path.parent.rmdir()

    def listing(self) -> list[Found]:
        """All files, half-written ones too."""
        if self.is_local:
            root = Path(self.root)
            there = []
            for file in (Path(folder) / name for folder, _, names in os.walk(root) for name in names):
                with suppress(FileNotFoundError):  # a part, renamed meanwhile
                    there.append(Found(str(file.relative_to(root)), datetime.fromtimestamp(file.stat().st_mtime, UTC)))
            return there
        found = self._objects().listing("")
        return [Found(one.name, datetime.fromtimestamp(one.changed_at, UTC)) for one in found]

    def _objects(self) -> Objects:
        if self._opened is None:
            self._opened = Objects(self.root, unavailable=Reason.DATA_UNREACHABLE)
        return self._opened


@cache
def of_process() -> DataFolder:
    """A folder that ends with this process: for a warehouse in memory."""
    return DataFolder(str(make_folder("perfreg-data-")))


def _literally(text: str) -> str:
    return _WILD.sub(r"[\1]", text)


def _write(root: Path, name: str, content: bytes) -> None:
    target = root / name
    missing = [parent for parent in target.parents if not parent.exists()]
    try:
        with refused_where_unwritable(root):
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, content, is_durable=True)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Rejected(Reason.WAREHOUSE_DISK_FULL, f"writing {target}") from error
        raise
    for parent in missing:
        sync_directory(parent.parent)
