"""Files by URL, through fsspec: an object store or a folder that machines exchange files through.

No rename, no lock and no link is asked of the store: an object is there whole or not at all, and who must see several
of them together writes the one that names the others last.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from perfreg_assets.reasons import Reason, Rejected


@dataclass(frozen=True)
class Stored:
    """One object.

    Attributes:
        name: below the store's URL, parts joined by "/".
        tag: changes with the content: the store's ETag, of a local file the time of its last change.
        changed_at: seconds since the epoch.
    """

    name: str
    size: int
    tag: str
    changed_at: float


class Objects:
    """The objects below a URL; names are relative to it."""

    def __init__(self, url: str) -> None:
        """Raises Rejected (EXCHANGE_UNAVAILABLE) where fsspec or the protocol's library is not installed."""
        self.url = url.rstrip("/")
        with self._failing_clearly():
            import fsspec  # noqa: PLC0415  (of the extra `cluster`)

            # Nothing is remembered between calls: other machines change what is there.
            self._fs, root = fsspec.url_to_fs(self.url, use_listings_cache=False, skip_instance_cache=True)
        self._root = root.rstrip("/")
        protocols = self._fs.protocol if isinstance(self._fs.protocol, tuple) else (self._fs.protocol,)
        self._is_local = "file" in protocols

    def listing(self, folder: str) -> list[Stored]:
        """Everything below a folder, however deep, in order of name; empty where there is none."""
        with self._failing_clearly():
            try:
                found = self._fs.find(self._path(folder), detail=True)
            except FileNotFoundError:  # not even a bucket, or no folder of a file system
                return []
        stored = (_stored(path.removeprefix(self._root + "/"), facts) for path, facts in found.items())
        return sorted((one for one in stored if not _is_unfinished(one.name)), key=lambda one: one.name)

    def read(self, name: str) -> bytes:
        """Raises FileNotFoundError."""
        with self._failing_clearly():
            content: bytes = self._fs.cat_file(self._path(name))
            return content

    def write(self, name: str, content: bytes) -> None:
        """Whole or not at all, in place of what had the name."""
        with self._failing_clearly():
            if not self._is_local:
                self._fs.pipe_file(self._path(name), content)
                return
            target = Path(self._path(name))
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
            with part.open("wb") as out:
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
            os.replace(part, target)

    def fetch(self, name: str, target: Path) -> None:
        """Copies an object to a local file.

        Raises:
            FileNotFoundError
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        with self._failing_clearly():
            self._fs.get_file(self._path(name), str(target))

    def copy(self, source: str, target: str) -> None:
        """Within the store, by the store itself where it can.

        Raises:
            FileNotFoundError
        """
        with self._failing_clearly():
            if self._is_local:
                self.write(target, Path(self._path(source)).read_bytes())
            else:
                self._fs.cp_file(self._path(source), self._path(target))

    def delete(self, names: Iterable[str]) -> None:
        """Those that are gone already are no error."""
        with self._failing_clearly():
            for name in names:
                try:
                    self._fs.rm_file(self._path(name))
                except FileNotFoundError:
                    continue
                if self._is_local:
                    self._remove_empty(Path(self._path(name)).parent)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _remove_empty(self, folder: Path) -> None:
        """An object store has no empty folders."""
        while folder != Path(self._root):
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
            raise Rejected(Reason.EXCHANGE_UNAVAILABLE, detail) from error


def _stored(name: str, facts: dict[str, Any]) -> Stored:
    changed = facts.get("LastModified", facts.get("last_modified", facts.get("mtime")))
    moment = changed.timestamp() if isinstance(changed, datetime) else float(changed or 0.0)
    tag = facts.get("ETag") or facts.get("etag") or facts.get("md5Hash") or f"{moment!r}"
    return Stored(name, int(facts["size"]), str(tag).strip('"'), moment)


def _is_unfinished(name: str) -> bool:
    last = name.rsplit("/", 1)[-1]
    return last.startswith(".") and last.endswith(".part")
