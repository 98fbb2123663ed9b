"""What a site was built from, kept beside it: per run in small files of equal size, and what holds for all in one more.

A file is read when one of its runs is asked for and written when one of them changed, so that one more run costs the
same however many there are. Each file is replaced by an atomic rename, the head last: whatever a killed build leaves,
its checksums do not fit and the next build looks at every run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from perfreg_assets.reports.files import write

FOLDER = ".state"
HEAD = f"{FOLDER}/head.json"
"""Written by every build that changed anything, last of all."""
FORMAT = 5
SHARDS = 256


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of a run since the last build.

    Attributes:
        stamp: of everything stored of it (`warehouse.stamps`).
        page: hash of everything its page was made of; "" where it has none.
        block: number of the list block that it stands in; -1 where it stands in none.
        app, version, started: its place among the runs of its app (ISO 8601); "" where it has none.
    """

    stamp: int = 0
    page: str = ""
    block: int = -1
    app: str = ""
    version: str = ""
    started: str = ""


@dataclass(frozen=True, slots=True)
class VersionEntry:
    """What is known of a version of an app since the last build.

    Attributes:
        block: number of the block of the app's versions that it stands in; -1 where it stands in none.
        page: hash of the text of its page; "" where it has none.
        code, first: its place in the order of the app's versions (code only where all of them have one; ISO 8601).
    """

    block: int = -1
    page: str = ""
    code: int | None = None
    first: str = ""


@dataclass(slots=True)
class Head:
    """What does not belong to a single run.

    Attributes:
        checksum, latest: `warehouse.stamps.Totals` of the last build.
        general: hash of what all pages depend on.
        overview: hash of what index and ω page depend on besides.
        due: run → what its page says is out of date.
        runs_changed: when the folder of run pages last changed, ns; 0 where that is too uncertain to go by.
        blocks: per list block its facts for the index, see `run_list`.
        apps: per app the facts of its blocks of versions, see `version_list`.
        first: the first page of the list of runs, by run, see `run_list`.
        pages: hash of the text of the pages that are no run's and no version's.
        versions_changed: as `runs_changed`, of the folder of the pages of versions.
        benchmarks: hash of all results of benchmarks, which pages of versions name.
        sizes: bytes of each file of runs, by its name.
        waiting: runs, the latest first, whose pages were put off: something that all pages depend on is another one.
        waiting_versions: as `waiting`, [app, version] of pages of versions.
    """

    checksum: int = -1
    latest: dict[str, str] = field(default_factory=dict)
    general: str = ""
    overview: str = ""
    due: dict[str, str] = field(default_factory=dict)
    runs_changed: int = 0
    blocks: list[dict[str, Any]] = field(default_factory=list)
    apps: dict[str, dict[str, Any]] = field(default_factory=dict)
    first: dict[str, list[Any]] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)
    versions_changed: int = 0
    benchmarks: str = ""
    sizes: dict[str, int] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    waiting_versions: list[list[str]] = field(default_factory=list)


class TornError(Exception):
    """A file of the state is not as it was written."""


@dataclass(slots=True)
class _Shard:
    runs: dict[str, Entry] = field(default_factory=dict)
    versions: dict[str, VersionEntry] = field(default_factory=dict)


class SiteState:
    """The state of the site in `out_dir`; nothing is written before `save`.

    Raises:
        TornError: by whatever reads: start again with `restart`.
    """

    def __init__(self, out_dir: Path) -> None:
        self._folder = out_dir / FOLDER
        self._shards: dict[int, _Shard] = {}
        self._touched: set[int] = set()
        self._head_path = out_dir / HEAD
        self.head = self._read_head()
        self._known_head = self._head_text()

    def get(self, run_id: str) -> Entry:
        """A run that was never seen has an entry that says nothing."""
        return self._shard(run_id).runs.get(run_id, Entry())

    def put(self, run_id: str, entry: Entry) -> None:
        shard = self._shard(run_id)
        if shard.runs.get(run_id) != entry:
            shard.runs[run_id] = entry
            self._touched.add(_number(run_id))

    def drop(self, run_id: str) -> None:
        if self._shard(run_id).runs.pop(run_id, None) is not None:
            self._touched.add(_number(run_id))

    def version(self, app: str, version: str) -> VersionEntry:
        """A version that was never seen has an entry that says nothing."""
        name = _version_name(app, version)
        return self._shard(name).versions.get(name, VersionEntry())

    def put_version(self, app: str, version: str, entry: VersionEntry) -> None:
        """Remembers it; an entry that says nothing forgets it."""
        name = _version_name(app, version)
        versions = self._shard(name).versions
        if versions.get(name, VersionEntry()) != entry:
            versions[name] = entry
            if entry == VersionEntry():
                del versions[name]
            self._touched.add(_number(name))

    def versions(self) -> Iterator[tuple[str, str, VersionEntry]]:
        """Every version with its entry: reads all files."""
        for number in range(SHARDS):
            for name, entry in list(self._numbered(number).versions.items()):
                app, version = json.loads(name)
                yield app, version, entry

    def items(self) -> Iterator[tuple[str, Entry]]:
        """Every run with its entry: reads all files."""
        for number in range(SHARDS):
            yield from list(self._numbered(number).runs.items())

    def save_runs(self) -> None:
        """Writes what changed of runs and versions, so that a build that is killed later does not begin anew."""
        self._folder.mkdir(exist_ok=True)
        for number in sorted(self._touched):
            shard, path = self._shards[number], self._path(number)
            runs = {run_id: _values(entry) for run_id, entry in sorted(shard.runs.items())}
            versions = {name: _values(entry) for name, entry in sorted(shard.versions.items())}
            content = {"format": FORMAT, "runs": runs, "versions": versions}
            write(path, json.dumps(content))
            self.head.sizes[path.name] = path.stat().st_size
        self._touched.clear()

    def save(self) -> None:
        """Writes everything that changed, the head last."""
        self.save_runs()
        text = self._head_text()
        if text != self._known_head or not self._head_path.exists():
            write(self._head_path, text)
            self._known_head = text

    def is_whole(self) -> bool:
        """Whether head and files belong together; not after a build was killed, or before the first."""
        found = {path.name: path.stat().st_size for path in self._folder.glob("[0-9a-f][0-9a-f].json")}
        return self.head.checksum >= 0 and found == self.head.sizes

    def restart(self) -> None:
        """Begins anew with nothing known but what pages were made of: that needs no other file to be true."""
        self.head, self._touched = Head(), set(range(SHARDS))
        shards, self._shards = self._shards, {}
        for number in range(SHARDS):
            try:
                known = shards.get(number) or self._read_shard(number)
            except TornError:
                known = _Shard()
            self._shards[number] = _Shard(
                {run_id: replace(entry, stamp=0, block=-1) for run_id, entry in known.runs.items() if entry.page},
                {name: replace(entry, block=-1) for name, entry in known.versions.items() if entry.page},
            )

    def _shard(self, name: str) -> _Shard:
        return self._numbered(_number(name))

    def _numbered(self, number: int) -> _Shard:
        if number not in self._shards:
            self._shards[number] = self._read_shard(number)
        return self._shards[number]

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:02x}.json"

    def _read_shard(self, number: int) -> _Shard:
        path = self._path(number)
        if not path.exists():
            return _Shard()
        found = _read(path)
        try:
            assert found is not None
            runs = {run_id: Entry(*values) for run_id, values in found["runs"].items()}
            return _Shard(runs, {name: VersionEntry(*values) for name, values in found["versions"].items()})
        except (AssertionError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise TornError(str(path)) from error

    def _head_text(self) -> str:
        return json.dumps({"format": FORMAT, **{spec.name: getattr(self.head, spec.name) for spec in fields(Head)}})

    def _read_head(self) -> Head:
        found = _read(self._head_path)
        if found is None:
            return Head()
        try:
            return Head(**{spec.name: found[spec.name] for spec in fields(Head)})
        except KeyError:
            return Head()


def _read(path: Path) -> dict[str, Any] | None:
    """None where there is none or it is not ours: what it would say is found out again then."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("format") == FORMAT else None


def _values(entry: Entry | VersionEntry) -> list[Any]:
    return list(_VALUES[type(entry)](entry))


_VALUES = {kind: attrgetter(*(spec.name for spec in fields(kind))) for kind in (Entry, VersionEntry)}
"""What reads all fields of an entry at once: a file has hundreds of entries."""


def _version_name(app: str, version: str) -> str:
    return json.dumps([app, version])


def _number(run_id: str) -> int:
    return hashlib.blake2b(run_id.encode("utf-8", "surrogatepass"), digest_size=1).digest()[0]
