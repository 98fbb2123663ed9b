"""What was asked for before, read from the tags of the latest Dagster runs: no sensor keeps a memory of its own.

A sensor writes what it asks for into the run it asks with, as digests. What is asked for again after runs without
success waits longer each time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 900.0

TAG = "perfreg/asked"
RECENT_RUNS = 200
"""What was asked for longer ago than this is forgotten, and asked for as if it were new."""


@dataclass(frozen=True)
class Asked:
    """How often the same was asked for, and when last (Unix seconds)."""

    count: int
    at: float

    @property
    def again_at(self) -> float:
        """When it may be asked for again."""
        return self.at + min(FIRST_PAUSE_S * 3.0 ** (self.count - 1), LONGEST_PAUSE_S)


def digest(*parts: str) -> str:
    """10 hex digits."""
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:10]


def tags(digests: Iterable[str]) -> dict[str, str]:
    """The tags of a run that asks for these."""
    return {TAG: ",".join(digests)}


def of_tags(tags: Mapping[str, str]) -> Sequence[str]:
    """What the run with these tags was asked for."""
    return tags.get(TAG, "").split(",") if tags.get(TAG) else ()


def earlier(runs: Iterable[tuple[Mapping[str, str], float]]) -> dict[str, Asked]:
    """Digest → how it was asked for.

    Args:
        runs: (tags, when it was created) of the latest runs, in any order.
    """
    found: dict[str, Asked] = {}
    for its_tags, at in runs:
        for one in of_tags(its_tags):
            before = found.get(one, Asked(0, at))
            found[one] = Asked(before.count + 1, max(before.at, at))
    return found
