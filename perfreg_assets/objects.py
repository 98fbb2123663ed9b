"""Files by URL, through fsspec: an object store or a folder that machines exchange files through.

No rename, no lock and no link is asked of the store: an object is there whole or not at all, and who must see several
of them together writes the one that names the others last.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.whole_files import whole_file

_TRIES = 5
_CHUNK_BYTES = 1 << 20
_NOTHING = "nothing-has-this-name"
_OF_THE_NAME = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ)


@dataclass(frozen=True)
class Stored:
    """One object.

    Attributes:
        name: below the store's URL, parts joined by "/".
        tag: changes with the content: the store's ETag, of a local file the time of its last change.
        is_marker: whether it only makes an empty folder seen, as consoles of object stores write it.
        changed_at: seconds since the epoch; of a local file when it was put there, whatever time it was given.
    """

    name: str
    size: int
    tag: str
    changed_at: float

    @property
    def is_marker(self) -> bool:
        return self.name.endswith("/") and self.size == 0


class Objects:
    """The objects below a URL; names are relative to it.

    Attributes:
        filesystem: fsspec's, for those who read through it.
        root: the URL as that file system writes it, without its protocol.
    """

    def __init__(self, url: str, *, unavailable: Reason = Reason.EXCHANGE_UNAVAILABLE) -> None:
        """Args:
            unavailable: the reason of what the store refuses, here and later.

        Raises:
            Rejected: `unavailable`, where fsspec or the protocol's library is not installed.
        """
        self.url = url.rstrip("/")
        self._unavailable = unavailable
        with self._failing_clearly():
            import fsspec  # noqa: PLC0415  (of the extra `cluster`)

            # Nothing is remembered between calls: other machines change what is there.
            self.filesystem, root = fsspec.url_to_fs(self.url, use_listings_cache=False, skip_instance_cache=True)
        self.root = root.rstrip("/")
        protocols = (
            self.filesystem.protocol if isinstance(self.filesystem.protocol, tuple) else (self.filesystem.protocol,)
        )
        self._is_local = "file" in protocols

    def require_there(self) -> None:
        """Raises Rejected, where the bucket or the folder that the URL names does not exist: to those who look for
        something it would be empty. A bucket has no folders, so a prefix need not be there before something is."""
        if self._is_local:
            if not Path(self.root).is_dir():
                raise Rejected(self._unavailable, f"{self.url} (no such folder: make it, or correct the name)")
            return
        container = self.root.split("/")[0]
        with self._failing_clearly():
            try:
                self.filesystem.find(self._path(_NOTHING))  # one question, whatever the store holds
            except FileNotFoundError as error:
                if not self.filesystem.exists(container):
                    raise Rejected(self._unavailable, f"{self.url} (there is no {container})") from error

    def listing(self, folder: str) -> list[Stored]:
        """Everything below a folder, however deep, in order of name; empty where there is none."""
        with self._failing_clearly():
            try:
                found = self.filesystem.find(self._path(folder), detail=True)
            except FileNotFoundError:  # not even a bucket, or no folder of a file system
                return []
        stored = (_stored(path.removeprefix(self.root + "/"), facts) for path, facts in found.items())
        return sorted((one for one in stored if not _is_unfinished(one.name)), key=lambda one: one.name)

    def has(self, name: str) -> bool:
        with self._failing_clearly():
            return bool(self.filesystem.exists(self._path(name)))

    def size(self, name: str) -> int | None:
        """Bytes; None where there is none of that name."""
        with self._failing_clearly():
            try:
                return int(self.filesystem.info(self._path(name))["size"])
            except FileNotFoundError:
                return None

    def read(self, name: str) -> bytes:
        """Raises FileNotFoundError."""
        with self._failing_clearly():
            content: bytes = self.filesystem.cat_file(self._path(name))
            return content

    def write(self, name: str, content: bytes) -> None:
        """Whole or not at all, in place of what had the name."""
        with self._failing_clearly():
            if not self._is_local:
                self.filesystem.pipe_file(self._path(name), content)
                return
            _put(Path(self._path(name)), lambda file: file.write(content))

    def fetch(self, name: str, target: Path) -> None:
        """Copies an object to a local file.

        Raises:
            FileNotFoundError: there is no such object.
            LocalFileError: there can be no such file on this machine: by its name, or what is there already.
            OSError: the file cannot be made now.
            Rejected: HOST_NO_SPACE; as everything here.
        """
        with _failing_here(target):  # before the store is asked: what fails here says nothing of it
            target.parent.mkdir(parents=True, exist_ok=True)
            target.open("wb").close()
        try:
            with self._failing_clearly(), _filling(target):
                self.filesystem.get_file(self._path(name), str(target))
        except FileNotFoundError:
            target.unlink(missing_ok=True)
            raise

    def copy(self, source: str, target: str) -> None:
        """Within the store, by the store itself where it can.

        Raises:
            FileNotFoundError
        """
        with self._failing_clearly():
            if not self._is_local:
                self.filesystem.cp_file(self._path(source), self._path(target))
                return
            with Path(self._path(source)).open("rb") as given:  # in parts: a video need not fit into the memory

                def fill(file: BinaryIO) -> None:
                    given.seek(0)
                    shutil.copyfileobj(given, file, _CHUNK_BYTES)

                _put(Path(self._path(target)), fill)

    def delete(self, names: Iterable[str]) -> None:
        """Those that are gone already are no error."""
        with self._failing_clearly():
            for name in names:
                try:
                    self.filesystem.rm_file(self._path(name))
                except FileNotFoundError:
                    continue
                if self._is_local:
                    self._remove_empty(Path(self._path(name)).parent)

    def remove_unfinished(self, before: float) -> None:
        """Of a folder: what writers that were killed before that moment (seconds since the epoch) left; no listing
        shows it. An object store keeps nothing unfinished under a name."""
        if not self._is_local:
            return
        with self._failing_clearly():
            for part in Path(self.root).rglob(".*.part"):
                with suppress(FileNotFoundError):  # finished meanwhile
                    if part.stat().st_mtime < before:
                        part.unlink()

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}" if name else self.root

    def _remove_empty(self, folder: Path) -> None:
        """An object store has no empty folders; one right below the root is a place that others fill."""
        while folder != Path(self.root) and folder.parent != Path(self.root):
            try:
                folder.rmdir()
            except OSError:  # not empty, or gone
                return
            folder = folder.parent

    @contextmanager
    def _failing_clearly(self) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, Rejected):
            raise
        # What a store's client raises is its own affair: there is no common class but Exception.
        except Exception as error:
            said = str(error).strip().splitlines()
            detail = f"{self.url} ({type(error).__name__}: {said[0][:200]})" if said else f"{self.url} ({error!r})"
            raise Rejected(self._unavailable, detail) from error


class LocalFileError(Exception):
    """What this machine's file system does not take."""


@contextmanager
def _failing_here(target: Path) -> Iterator[None]:
    try:
        with _filling(target):
            yield
    except OSError as error:
        if error.errno not in _OF_THE_NAME:  # an accident of this machine: another time it may go well
            raise
        raise LocalFileError(error.strerror) from error
    except ValueError as error:
        raise LocalFileError(str(error)) from error


@contextmanager
def _filling(target: Path) -> Iterator[None]:
    """Tells a disk of this machine that is full from a store that fails."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise Rejected(Reason.HOST_NO_SPACE, f"{target.parent}: {error.strerror}") from error


def _put(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    """A file, its folder with it, which somebody else may be removing because it is empty."""
    for tries_left in reversed(range(_TRIES)):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with whole_file(path, is_durable=True) as file:
                fill(file)
            return
        except FileNotFoundError:
            if not tries_left:
                raise


def _stored(name: str, facts: dict[str, Any]) -> Stored:
    changed = facts.get("LastModified", facts.get("last_modified", facts.get("mtime")))
    moment = changed.timestamp() if isinstance(changed, datetime) else float(changed or 0.0)
    tag = facts.get("ETag") or facts.get("etag") or facts.get("md5Hash") or f"{moment!r}"
    if "ino" in facts:  # `created` of a local file is the time of its last change of status, which nobody sets
        moment = max(moment, float(facts.get("created") or 0.0))
    return Stored(name, int(facts["size"]), str(tag).strip('"'), moment)


def _is_unfinished(name: str) -> bool:
    last = name.rsplit("/", 1)[-1]
    return last.startswith(".") and last.endswith(".part")
