"""What can be stored. Text in UTF-8 has no halves of surrogate pairs: JSON can spell them, and names of files have them
where their bytes are of another encoding. JSON has no end of levels, and whoever walks through it one of calls; and it
may say a key twice, of which a dictionary keeps the last."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from perfreg_assets.reasons import Reason, Rejected

MOST_LEVELS = 100
"""Of lists and objects within each other."""


def storable(text: str) -> str:
    """The text with a question mark for each half of a surrogate pair."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def require_storable(value: object, reason: Reason, where: str) -> None:
    """Checks that all text in a JSON value can be stored as it is.

    Raises:
        Rejected: `reason`, with where it was found.
    """
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise Rejected(reason, f"{where} holds half of a surrogate pair") from error


def require_shallow(value: object, reason: Reason, where: str) -> None:
    """Checks that a JSON value has at most `MOST_LEVELS` levels.

    Raises:
        Rejected: `reason`, with where it was found.
    """
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise Rejected(reason, f"{where} is nested more than {MOST_LEVELS} levels deep")


def told_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, as `object_pairs_hook` of those that read what others wrote.

    Raises:
        ValueError: a key stands in it twice.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"key {twice[:200]!r} stands there more than once; keep the one that holds")
    return found


def once_only(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """As `told_once`, without the keys that stand there twice."""
    counts = Counter(name for name, _ in pairs)
    return {name: value for name, value in pairs if counts[name] == 1}
