"""Can everything be written where it is written to, is there room, and did killed processes leave anything there?"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perfreg_assets.model.finding import FAILED, NOTICE, OK, Finding
from perfreg_assets.process_life import is_alive, signature, signer, started_ticks
from perfreg_assets.settings import Settings
from perfreg_assets.traces.wasm_files import cache_folders
from perfreg_assets.warehouse.lock import dead_holder, forget_holder
from perfreg_assets.whole_files import QUIET_S, beginning_of_parts

FREE_BYTES_MIN = 64 << 20
"""Below this a publish, a run's trace or Dagster's records may find no room."""
FREE_BYTES_FEW = 1 << 30
_SCRATCH = re.compile(r"\.part-(\d+)$|\.(\d+)\.part$")
_STARTED = re.compile(r"\.(\d+)\.[0-9a-f]{8}\.\d+\.part$")
_UNSIGNED = re.compile(r"(perfreg-(read|trace|file|worker|data|ui|numba|bench)-.+|\.(creating|restoring)-.+)$")
_QUIET_UNSIGNED_S = 86_400.0


def examine_places(settings: Settings) -> list[Finding]:
    """Permissions, disk, caches, scratch, locks."""
    places = {
        "folder of the warehouse": settings.warehouse.absolute().parent,
        "home": settings.home_dir,
        "inbox": settings.inbox_dir,
        "temporary folder": Path(tempfile.gettempdir()),
    }
    found = [finding for name, place in places.items() for finding in _place(name, place)]
    return [*found, _caches(settings), _scratch(settings), _locks(settings), *_token(settings)]


def _place(name: str, place: Path) -> list[Finding]:
    if not place.exists():

        def make() -> str:
            place.mkdir(parents=True, exist_ok=True)
            return "made"

        return [Finding(name, NOTICE, f"{place} is not there yet", "make it", make)]
    if not place.is_dir():
        return [Finding(name, FAILED, f"{place} is no folder", "move it away")]
    if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
        return [Finding(name, FAILED, f"{place} cannot be written", "give it to who runs perfreg (chown, chmod)")]
    free = shutil.disk_usage(place).free
    told = f"{place}, {free / 1e9:,.1f} GB free"
    if free < FREE_BYTES_MIN:
        return [Finding(name, FAILED, told, "free some space")]
    if free < FREE_BYTES_FEW:
        return [Finding(name, NOTICE, told, "free some space soon")]
    return [Finding(name, OK, told)]


def _caches(settings: Settings) -> Finding:
    folders = [
        *cache_folders(settings.home_dir if settings.home else None),
        Path(os.environ.get("NUMBA_CACHE_DIR", "")),
    ]
    closed = [str(one) for one in folders if str(one) != "." and not os.access(_existing(one), os.W_OK | os.X_OK)]
    if closed:
        told = f"{', '.join(closed)} cannot be written: every new process compiles again"
        return Finding("caches", NOTICE, told, "make it writable, or set PERFREG_HOME or NUMBA_CACHE_DIR")
    return Finding("caches", OK, ", ".join(str(one) for one in folders if str(one) != "."))


def _existing(place: Path) -> Path:
    return place if place.exists() or place == place.parent else _existing(place.parent)


def _scratch(settings: Settings) -> Finding:
    left = list(_leftovers(settings))
    if not left:
        return Finding("scratch", OK, "nothing of processes that are gone")

    def remove() -> str:
        for path in left:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
        return "removed"

    return Finding(
        "scratch", NOTICE, f"{len(left)} files or folders of processes that are gone, such as {left[0]}",
        "remove them", remove,
    )  # fmt: skip


@contextmanager
def signed_scratch(beginning: str) -> Iterator[Path]:
    """A folder in the temporary folder, for the block; its name says whose it is, for `remove_dead_scratch`."""
    started = started_ticks(os.getpid())
    suffix = signature() if started is None else f".{started}{signature()}"
    with tempfile.TemporaryDirectory(prefix=beginning, suffix=suffix) as folder:
        yield Path(folder)


def remove_dead_scratch(beginning: str) -> None:
    """Removes what processes that were killed left of `signed_scratch`; what cannot be removed is the doctor's."""
    for entry in sorted(os.scandir(tempfile.gettempdir()), key=lambda one: one.name):
        if entry.name.startswith(beginning) and (_is_of_dead_neighbour(entry) or _is_leftover(entry)):
            shutil.rmtree(entry.path, ignore_errors=True)


def _is_of_dead_neighbour(entry: os.DirEntry[str]) -> bool:
    """Containers give the same few numbers again: a process with another start did not sign it."""
    is_here, pid = signer(entry.name) or (False, 0)
    started = _STARTED.search(entry.name)
    if not is_here or started is None:
        return False
    try:
        facts = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    return facts.st_uid == os.geteuid() and started_ticks(pid) != int(started[1])


def _leftovers(settings: Settings) -> Iterator[Path]:
    """What processes of this user that are gone left half done; nothing that anybody will read again."""
    beside, stem = settings.warehouse.absolute().parent, settings.warehouse.stem
    # Folder → how the names of ours begin in it; any where it is ours alone.
    ours = {
        beside: (f"{stem}.", beginning_of_parts(f"{stem}."), ".restoring-"),
        settings.runs_dir: ("",),
        settings.dagster_home: ("",),
        Path(tempfile.gettempdir()): ("perfreg-",),
    }
    for folder, beginnings in ours.items():
        try:
            entries = sorted(os.scandir(folder), key=lambda one: one.name)
        except OSError:  # told of by the check of the place
            continue
        yield from (Path(one.path) for one in entries if one.name.startswith(beginnings) and _is_leftover(one))


def _is_leftover(entry: os.DirEntry[str]) -> bool:
    try:
        facts = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    quiet_s = time.time() - facts.st_mtime
    if facts.st_uid != os.geteuid():
        return False
    if signed := _SCRATCH.search(entry.name):
        return quiet_s > QUIET_S and not is_alive(int(signed[1] or signed[2]))
    return _UNSIGNED.match(entry.name) is not None and quiet_s > _QUIET_UNSIGNED_S


def _locks(settings: Settings) -> Finding:
    beside = settings.warehouse.absolute()
    locks = [beside.with_name(f"{beside.name}.lock"), settings.dagster_home / ".creating.lock", settings.ui_lock_file]
    dead = {path: holder for path in locks if (holder := dead_holder(path)) is not None}
    if not dead:
        return Finding("locks", OK, "none of a process that is gone")

    def forget() -> str:
        for path in dead:
            forget_holder(path)
        return "its name is taken off"

    told = ", ".join(f"{path.name} has the name of process {holder}" for path, holder in dead.items())
    return Finding("locks", NOTICE, f"{told}, which is gone; it holds nothing", "take its name off", forget)


def _token(settings: Settings) -> list[Finding]:
    path = settings.dagster_home / "token"
    if not path.exists() or not stat.S_IMODE(path.stat().st_mode) & 0o077:
        return []

    def close() -> str:
        path.chmod(0o600)
        return "closed to others"

    return [Finding("token", FAILED, f"{path} can be read by others", "chmod 600 it", close)]
