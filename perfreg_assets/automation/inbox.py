"""What the inbox sensor decides: which folders are new, stable, and worth a run. Pure, knows no Dagster.

A folder that is still being copied is left alone. What was dealt with leaves the inbox or is noted there
(`collection.inbox`), and what was asked for is in the tags of Dagster's own runs (`asking`): the cursor remembers only
folders whose clock is wrong, a bounded number of them.
"""

from __future__ import annotations

import json
from collections.abc import Container
from dataclasses import dataclass, field

from perfreg_assets.automation.asking import digest
from perfreg_assets.automation.cursors import read_cursor
from perfreg_assets.collection.inbox import Sighting

_REMEMBERED = 32


@dataclass(frozen=True)
class Decision:
    """Folders to take in now, those that are not quiet yet, and the cursor."""

    ready: tuple[Sighting, ...]
    cursor: str
    waiting: tuple[str, ...] = field(default=())


def decide(
    sightings: list[Sighting],
    cursor: str | None,
    *,
    now: float,
    settle_s: float,
    limit: int,
    asked: Container[str] = frozenset(),
) -> Decision:
    """Folders that are new or changed and have been quiet for `settle_s`; at most `limit` of them.

    A file dated in the future (another machine's clock) counts as quiet once its folder looked the same at the
    previous tick, so that a wrong clock cannot keep a run out for ever.

    Args:
        asked: digests of folders for which a run is under way, or that wait after one without success.
    """
    before = read_cursor(cursor, dict[str, str]) or {}
    remembered: dict[str, str] = {}
    ready: list[Sighting] = []
    waiting: list[str] = []
    for sighting in sightings:
        if sighting.is_done or digest_of(sighting) in asked:
            continue
        quiet = now - sighting.changed_at >= settle_s
        is_ahead = sighting.changed_at > now
        if (quiet or (is_ahead and before.get(sighting.name) == sighting.signature)) and len(ready) < limit:
            ready.append(sighting)
            continue
        waiting.append(sighting.name)
        if is_ahead and len(remembered) < _REMEMBERED:
            remembered[sighting.name] = sighting.signature
    return Decision(tuple(ready), json.dumps(remembered, sort_keys=True), tuple(waiting))


def digest_of(sighting: Sighting) -> str:
    """What a request for a folder as it is now is known by."""
    return digest("folder", sighting.name, sighting.signature)
