"""Named points at which a process dies by SIGKILL: moments that a random one hardly ever meets.

A point is the beginning or the end of a function of the project, or a statement that ends a transaction. Nothing of it
is in the project: the functions are wrapped when their module is imported, in processes whose environment says so
(`SOAK_POINTS`, a folder). A process that reaches the point named in the file `armed` there takes the file and dies;
where the file names a kind of process, only one of that kind does.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

VARIABLE = "SOAK_POINTS"
_BEFORE, _AFTER = "before", "after"
_FUNCTIONS = {
    "home made aside, not in place": ("perfreg_assets.automation.home_storage", "_put", _BEFORE),
    "one file of the home in place": ("perfreg_assets.automation.home_storage", "_put", _AFTER),
    "warehouse not created": ("perfreg_assets.warehouse.connection", "Warehouse._create", _BEFORE),
    "warehouse created": ("perfreg_assets.warehouse.connection", "Warehouse._create", _AFTER),
    "lock taken": ("perfreg_assets.warehouse.connection", "require_free_space", _BEFORE),
    "warehouse opened": ("perfreg_assets.warehouse.connection", "migrations.migrate", _BEFORE),
    "value not written": ("perfreg_assets.warehouse.data_folder", "_write", _BEFORE),
    "value written, row not": ("perfreg_assets.warehouse.data_folder", "_write", _AFTER),
    "own file written, not published": ("perfreg_assets.warehouse.connection", "publish", _BEFORE),
    "published, marker there": ("perfreg_assets.warehouse.connection", "publish", _AFTER),
    "before a rename of publishing": ("perfreg_assets.warehouse.publishing", "_rename", _BEFORE),
    "after a rename of publishing": ("perfreg_assets.warehouse.publishing", "_rename", _AFTER),
    "within a refreshed copy": ("perfreg_assets.warehouse.publishing", "_write", _AFTER),
    "run's file copied": ("perfreg_assets.collection.registry", "_place", _AFTER),
    "run in its place, row not": ("perfreg_assets.collection.registry", "_store", _AFTER),
    "trace not read": ("perfreg_assets.model.inspecting", "read_trace", _BEFORE),
    "trace read, nothing stored": ("perfreg_assets.model.inspecting", "read_trace", _AFTER),
    "file written aside": ("perfreg_assets.whole_files", "_into_place", _BEFORE),
    "file in place": ("perfreg_assets.whole_files", "_into_place", _AFTER),
    "inbox: registered, not left": ("perfreg_assets.collection.inbox", "leave", _BEFORE),
    "inbox: left": ("perfreg_assets.collection.inbox", "leave", _AFTER),
    "inbox: refused, not noted": ("perfreg_assets.collection.inbox", "note", _BEFORE),
    "what is settled not remembered": ("perfreg_assets.model.settled", "write_whole", _BEFORE),
    "backup copied": ("perfreg_assets.warehouse.backup", "_contents", _AFTER),
    "restore unpacked": ("perfreg_assets.warehouse.backup", "_unpack", _AFTER),
    "file of values deleted": ("perfreg_assets.warehouse.data_folder", "DataFolder.delete", _AFTER),
    "before it is noted which traces are there": ("perfreg_assets.model.retention", "trace_table.note_gone", _BEFORE),
    "partition added": ("dagster", "DagsterInstance.add_dynamic_partitions", _AFTER),
    "debt noted": ("perfreg_assets.collection.journal", "Journal.owe", _AFTER),
    "debt not noted as paid": ("perfreg_assets.collection.journal", "Journal.paid", _BEFORE),
    "recording fetched": ("perfreg_assets.collection.perfetto_session", "PerfettoSession.fetch", _AFTER),
    "run folder written aside": ("perfreg_assets.collection.collect", "write_run_folder", _AFTER),
    "session's row kept, run folder not in place": ("perfreg_assets.collection.told_sessions", "keep", _AFTER),
    "session's row stored, still kept": ("perfreg_assets.collection.told_sessions", "table.upsert", _AFTER),
    "run folder in place, row not": ("perfreg_assets.collection.collect", "Collection._write_run_folder", _AFTER),
}
_STATEMENTS = {
    "before a commit": ("COMMIT", _BEFORE),
    "after a commit": ("COMMIT", _AFTER),
    "before a checkpoint": ("CHECKPOINT", _BEFORE),
    "after a checkpoint": ("CHECKPOINT", _AFTER),
}
NAMES = (*_FUNCTIONS, *_STATEMENTS)
_CONNECTION = "perfreg_assets.warehouse.connection"
_MODULES = {_CONNECTION, *(module for module, _, _ in _FUNCTIONS.values())}
_met: Counter[str] = Counter()
_noted: set[str] = set()
WORKER = "worker"
"""A process that Dagster runs a job in."""


# ---- the side of whoever kills -----------------------------------------------------------------------
def arm(folder: Path, name: str, nth: int = 1, *, kind: str = "") -> None:
    """The next process, of a kind (see `kind_of`) or of any, that comes to the point for the `nth` time dies there."""
    assert name in NAMES, name
    part = folder / "armed.part"
    part.write_text(f"{name}\t{nth}\t{kind}")
    part.rename(folder / "armed")


def disarm(folder: Path) -> bool:
    """Whether somebody died of it."""
    try:
        (folder / "armed").unlink()
    except FileNotFoundError:
        return True
    return False


def kind_of(command_line: str) -> str:
    """What a process of `perfreg ui` is."""
    known = {"webserver": "web server", "_daemon": "daemon", "api grpc": "code server", "wasm": "engine"}
    known |= {"perfreg_assets.cli": "command", "starter.py": "command", "resource_tracker": "resource tracker"}
    return next((told for part, told in known.items() if part in command_line), WORKER)


def deaths(folder: Path) -> Counter[tuple[str, str]]:
    """(point, kind of process) → how many died of it."""
    try:
        lines = (folder / "deaths").read_text().splitlines()
    except FileNotFoundError:
        lines = []
    return Counter((name, kind) for name, _, kind in (line.partition("\t") for line in lines))


def met_by_workers(folder: Path) -> list[str]:
    """Points that run workers came to, by name: `note_workers` must have been called before."""
    return sorted(set((folder / "by-workers").read_text().splitlines()))


def note_workers(folder: Path) -> None:
    (folder / "by-workers").touch()


@contextmanager
def counting(folder: Path) -> Iterator[Counter[str]]:
    """How often each point was met meanwhile; known when the block ends."""
    found: Counter[str] = Counter()
    count = folder / "count"
    count.touch()
    try:
        yield found
    finally:
        found.update(count.read_text().splitlines())
        count.unlink()


# ---- the side of those who die -----------------------------------------------------------------------
def reached(name: str) -> None:
    folder = os.environ.get(VARIABLE)
    if folder is None:
        return
    try:
        count = os.open(f"{folder}/count", os.O_WRONLY | os.O_APPEND)
    except FileNotFoundError:
        pass
    else:
        os.write(count, f"{name}\n".encode())
        os.close(count)
    kind = kind_of(" ".join(sys.orig_argv))
    if kind == WORKER and name not in _noted and os.path.exists(f"{folder}/by-workers"):
        _noted.add(name)
        _append(f"{folder}/by-workers", name)
    try:
        wanted, nth, who = Path(folder, "armed").read_text().split("\t")
    except FileNotFoundError:
        return
    if wanted != name or who not in ("", kind):
        return
    _met[name] += 1
    if _met[name] < int(nth):
        return
    try:
        os.rename(f"{folder}/armed", f"{folder}/died-of-it")
    except FileNotFoundError:  # another process died of it
        return
    _append(f"{folder}/deaths", f"{name}\t{kind}")
    os.kill(os.getpid(), signal.SIGKILL)


def _append(path: str, line: str) -> None:
    """In one write: several processes may do so at once."""
    with open(path, "ab", buffering=0) as out:
        out.write(f"{line}\n".encode())


class _Connection:
    """A connection to the warehouse's own file that knows when a transaction ends."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, sql: str, *parameters: Any) -> Any:
        self._reach(sql, _BEFORE)
        result = self._connection.execute(sql, *parameters)
        self._reach(sql, _AFTER)
        return result

    def _reach(self, sql: str, when: str) -> None:
        for name, statement in _STATEMENTS.items():
            if statement == (sql, when):
                reached(name)


def _watched(opened: Any) -> Any:
    """A warehouse's file as it was opened for writing, whose transactions are watched."""
    opened.connection = _Connection(opened.connection)
    return opened


def _wrapped(function: Callable[..., Any], name: str, when: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*arguments: Any, **named: Any) -> Any:
        if when == _BEFORE:
            reached(name)
        result = function(*arguments, **named)
        if when == _AFTER:
            reached(name)
        return result

    return wrapper


def _wrap(module: ModuleType) -> None:
    for name, (where, path, when) in _FUNCTIONS.items():
        if where != module.__name__:
            continue
        *holders, last = path.split(".")
        holder = functools.reduce(getattr, holders, module)
        setattr(holder, last, _wrapped(getattr(holder, last), name, when))
    if module.__name__ == _CONNECTION:
        opening = module.Warehouse._open
        module.Warehouse._open = lambda self: _watched(opening(self))  # type: ignore[attr-defined]


class _Wrapping(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _wrap(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Finder(MetaPathFinder):
    """Finds what others find, and has it wrapped when it is imported."""

    def __init__(self) -> None:
        self._under_way: set[str] = set()

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in _MODULES or name in self._under_way:
            return None
        self._under_way.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._under_way.discard(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Wrapping(spec.loader)
        return spec


def install() -> None:
    """Wraps the functions in this process; before anything of the project is imported."""
    loaded = sorted(_MODULES & set(sys.modules))
    assert not loaded, loaded
    sys.meta_path.insert(0, _Finder())
