"""The inbox: which folders lie in it, and how a folder leaves it once it was taken in.

A folder that became a run is moved to `inbox/.taken`, deleted, or left (setting `inbox_after`). What was refused stays
where it is, to be mended there. What stays is noted in `inbox/.seen` with the signature of its files, so that it is
taken again when they change. Nothing is lost when a process is killed between registering and this: the folder is still
there, is taken once more, and registering the same run twice is registering it once.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

TAKEN = ".taken"
SEEN = ".seen"
_DELETED = ".deleted"
_UNFINISHED = (".part", ".tmp", ".crdownload")


@dataclass(frozen=True)
class Sighting:
    """One folder of the inbox at one moment: a signature of its files, when the last of them changed, and whether it
    was taken in or refused as it is."""

    name: str
    signature: str
    changed_at: float
    is_done: bool = False


def look(inbox: Path) -> list[Sighting]:
    """The inbox's folders in order of name; hidden ones, and those with unfinished files, are left out.

    A folder that vanishes while it is looked at is left out too: it will be seen again, or not.
    """
    try:
        folders = sorted(inbox.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = [sight(folder) for folder in folders if not folder.name.startswith(".")]
    return [one for one in found if one is not None]


def beside_folders(inbox: Path) -> list[str]:
    """Names of the files that lie beside the inbox's folders, bare traces say: they are no runs, and nobody takes them.
    Hidden and unfinished ones are left out."""
    try:
        entries = sorted(inbox.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    names = [one.name for one in entries if one.is_file()]
    return [name for name in names if not name.startswith(".") and not name.endswith(_UNFINISHED)]


def sight(folder: Path) -> Sighting | None:
    """A folder of an inbox as it is now; None for what is no folder, is gone, or is still being written.

    What of it may not be read is part of its signature: with other permissions it is another folder.
    """
    if folder.name.endswith(_UNFINISHED) or not folder.is_dir():
        return None
    try:
        files, shut = _inside(folder)
        if any(path.name.endswith(_UNFINISHED) for path in files):
            return None
        facts = [
            (str(path.relative_to(folder)), stat.st_size, stat.st_mtime_ns) for path in files for stat in [path.lstat()]
        ]
        changed_at = max([folder.stat().st_mtime, *(mtime / 1e9 for _, _, mtime in facts)])
    except FileNotFoundError:
        return None
    told = json.dumps([*facts, *(str(path.relative_to(folder)) for path in shut)])
    signature = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return Sighting(folder.name, signature, changed_at, _noted(folder) == signature)


def _inside(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files below a folder, links among them, and the files and folders that this process may not read, in order.
    Of what lies in such a folder nothing is known."""
    files: list[Path] = []
    shut: list[Path] = []
    if not _may_enter(folder):
        return [], [folder]
    for where, folders, names in os.walk(folder):
        below = [Path(where, name) for name in folders]
        closed = [path for path in below if not path.is_symlink() and not _may_enter(path)]
        folders[:] = [path.name for path in below if path not in closed]
        found = [*(Path(where, name) for name in names), *(path for path in below if path.is_symlink())]
        shut += [*closed, *(path for path in found if not path.is_symlink() and not _may(path, os.R_OK))]
        files += found
    return sorted(files), sorted(shut)


def _may_enter(folder: Path) -> bool:
    return _may(folder, os.R_OK | os.X_OK)


def _may(path: Path, what: int) -> bool:
    return os.access(path, what, effective_ids=True) or not os.path.lexists(path)


def leave(before: Sighting, inbox: Path, after: str) -> str | None:
    """Lets a folder leave the inbox that was taken in as it was `before`; one that changed meanwhile stays, to be taken
    again. One that cannot leave, as another user's, is noted.

    Args:
        after: 'move', 'delete' or 'keep', the setting `inbox_after`.

    Returns:
        Where it is now; None where it is no more or was left.

    Raises:
        OSError: it cannot be moved or deleted, or nothing can be written there.
    """
    folder = inbox / before.name
    now = sight(folder)
    if now is None or now.signature != before.signature:
        return None
    if after == "keep":
        note(before, inbox)
        return None
    moved_to = None
    try:
        if after == "delete":
            _delete(folder, inbox / _DELETED)
        else:
            moved_to = str(_move(before, inbox))
    except OSError:
        note(before, inbox)  # else it would be taken in over and over
        raise
    _note_path(folder).unlink(missing_ok=True)
    return moved_to


def _move(before: Sighting, inbox: Path) -> Path:
    """Where it is now."""
    folder, target = inbox / before.name, inbox / TAKEN / before.name
    target.parent.mkdir(exist_ok=True)
    if os.path.lexists(target):  # an earlier state of the same folder: both are kept
        target = target.with_name(f"{target.name}-{before.signature[:8]}")
        if target.is_symlink():
            target.unlink()
        shutil.rmtree(target, ignore_errors=True)  # this very state, taken before
    if folder.is_symlink() and not os.path.isabs(link := os.readlink(folder)):  # it leads on from where it lies
        leads_to = os.path.join(os.path.realpath(inbox), link)
        target.symlink_to(os.path.relpath(leads_to, os.path.realpath(target.parent)))
        folder.unlink()
    else:
        os.rename(folder, target)
    return target


def _delete(folder: Path, deleted: Path) -> None:
    """First out of sight: what is left of it when this is killed is no run that lacks its run.json. Of a link the link
    alone."""
    if folder.is_symlink():
        folder.unlink()
        return
    deleted.mkdir(exist_ok=True)
    os.rename(folder, deleted / secrets.token_hex(8))
    for one in deleted.iterdir():  # what was left before, too; somebody else may be at it
        shutil.rmtree(one, ignore_errors=True)


def note(seen: Sighting, inbox: Path) -> None:
    """Says of a folder that stays in the inbox that it was dealt with as it is.

    Raises:
        OSError: nothing can be written there.
    """
    path = _note_path(inbox / seen.name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(seen.signature, "utf-8")


def _note_path(folder: Path) -> Path:
    return folder.parent / SEEN / folder.name


def _noted(folder: Path) -> str | None:
    try:
        return _note_path(folder).read_text("utf-8", errors="replace")
    except OSError:
        return None  # there is none, or none that can be read: the folder is taken in, once more perhaps
