"""What can be stored. Text in UTF-8 has no halves of surrogate pairs: JSON can spell them, and names of files have them
where their bytes are of another encoding. JSON has no end of levels, and whoever walks through it one of calls."""

from __future__ import annotations

import json

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
