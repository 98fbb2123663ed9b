"""Run folders of the exchange on their way to a worker: which files belong together, and what can be a file here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from perfreg_assets.collection.run_folder import RUN_JSON, TRACE_SUFFIXES
from perfreg_assets.model import handover
from perfreg_assets.model.handover import REFUSED
from perfreg_assets.objects import LocalFileError, Objects, Stored
from perfreg_assets.settings import Settings

_ODD_NAMES, _KEY = "odd_names", ".key"
_TRACE = "trace"
_RUN_JSON_AND_TRACE = 2  # files besides attachments


def refused_part(objects: Objects, listing: Sequence[Stored]) -> list[Stored]:
    """Where a folder has no run.json or no trace: the files of the latest refused one of its name that lacked the
    other. It was read between the two, and would never be a run."""
    has = _parts(listing)
    if len(has) != 1:
        return []
    name = listing[0].name.split("/")[1]
    refused: dict[str, list[Stored]] = {}
    for one in objects.listing(REFUSED):
        folder, digits = handover.refused_of(one.name)
        if folder == name and one.name.count("/") > 1:
            refused.setdefault(digits, []).append(one)
    fitting = [files for files in refused.values() if _parts(files) == {RUN_JSON, _TRACE} - has]
    there = {handover.inside(one.name) for one in listing}
    latest = max(fitting, key=lambda files: max(one.changed_at for one in files), default=[])
    return [one for one in latest if handover.inside(one.name) not in there]


def _parts(files: Iterable[Stored]) -> set[str]:
    """Which of the two that make a folder a run are among its files."""
    names = [handover.inside(one.name) for one in files]
    found = {_TRACE for name in names if name.endswith(TRACE_SUFFIXES)}
    return found | {RUN_JSON} if RUN_JSON in names else found


def fetch(objects: Objects, listing: list[Stored], local: Path, settings: Settings) -> tuple[list[str], bool]:
    """Copies what a run folder may hold; what was left out and why, and whether any of it was deleted meanwhile."""
    fetched = 0
    is_going = False
    notes: list[str] = []
    most = settings.attachments_max_bytes + settings.trace_max_bytes
    # What makes it a run first: whatever is too much, it is none of these.
    for one in sorted(listing, key=lambda one: (not one.name.endswith((f"/{RUN_JSON}", *TRACE_SUFFIXES)), one.name)):
        name = handover.inside(one.name)
        if not _is_a_name(name):
            notes.append(f"{name!r} is no name of a file")
        elif fetched >= settings.attachments_max_count + _RUN_JSON_AND_TRACE:
            notes.append(f"{name} and what follows: more than {settings.attachments_max_count:,} files")
            break
        elif one.size > most:
            notes.append(f"{name}: the folder's files have more than the allowed bytes")
        else:
            try:
                objects.fetch(one.name, local / name)
            except FileNotFoundError:
                notes.append(f"{name}: deleted meanwhile")
                is_going = True
                continue
            except LocalFileError as error:
                notes.append(f"{name}: {error}")
                continue
            most -= one.size
            fetched += 1
    return notes, is_going


def _is_a_name(name: str) -> bool:
    return not any(part in ("", ".", "..") for part in name.split("/"))


def kept_as(name: str) -> str:
    """What a file of a folder is called where it is kept: a key of an object store need be no name of a file."""
    return name if _is_a_name(name) else f"{_ODD_NAMES}/{quote(name, safe='')}{_KEY}"
