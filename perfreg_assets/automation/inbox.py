"""What the inbox sensor decides: which folders are new, stable, and worth a run. Pure, knows no Dagster.

A folder is looked at again only when its files change (names, sizes or modification times); what was decided
is kept in the sensor's cursor. A folder that is still being copied is left alone.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

_UNFINISHED = (".part", ".tmp", ".crdownload")


@dataclass(frozen=True)
class Sighting:
    """One folder of the inbox at one moment: a signature of its files, and when the last of them changed."""

    name: str
    signature: str
    changed_at: float


@dataclass(frozen=True)
class Decision:
    """Folders to take in now, and the cursor that remembers what was seen."""

    ready: tuple[Sighting, ...]
    cursor: str
    waiting: tuple[str, ...] = field(default=())


def look(inbox: Path) -> list[Sighting]:
    """The inbox's folders in order of name; hidden ones, and those with unfinished files, are left out.

    A folder that vanishes while it is looked at is left out too: it will be seen again, or not.
    """
    if not inbox.is_dir():
        return []
    sightings = []
    for folder in sorted(inbox.iterdir()):
        if folder.name.startswith(".") or folder.name.endswith(_UNFINISHED) or not folder.is_dir():
            continue
        try:
            files = sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
            if any(path.name.endswith(_UNFINISHED) for path in files):
                continue
            facts = [
                (str(path.relative_to(folder)), stat.st_size, stat.st_mtime_ns)
                for path in files
                for stat in [path.lstat()]
            ]
            changed_at = max([folder.stat().st_mtime, *(mtime / 1e9 for _, _, mtime in facts)])
        except FileNotFoundError:
            continue
        signature = hashlib.sha256(json.dumps(facts).encode("utf-8", "surrogatepass")).hexdigest()[:24]
        sightings.append(Sighting(folder.name, signature, changed_at))
    return sightings


def decide(sightings: list[Sighting], cursor: str | None, *, now: float, settle_s: float, limit: int) -> Decision:
    """Folders that are new or changed and have been quiet for `settle_s`; at most `limit` of them.

    A file dated in the future (another machine's clock) counts as quiet once its folder looked the same at the
    previous tick, so that a wrong clock cannot keep a run out for ever.
    """
    memory: dict[str, dict[str, str]] = json.loads(cursor) if cursor else {}
    kept: dict[str, dict[str, str]] = {}
    ready: list[Sighting] = []
    waiting: list[str] = []
    for sighting in sightings:
        known = memory.get(sighting.name, {})
        if known.get("taken") == sighting.signature:
            kept[sighting.name] = known
            continue
        quiet = now - sighting.changed_at >= settle_s
        same_as_before = known.get("seen") == sighting.signature and sighting.changed_at > now
        if (quiet or same_as_before) and len(ready) < limit:
            ready.append(sighting)
            kept[sighting.name] = {"taken": sighting.signature}
        else:
            waiting.append(sighting.name)
            kept[sighting.name] = {**known, "seen": sighting.signature}
    return Decision(tuple(ready), json.dumps(kept, sort_keys=True), tuple(waiting))
