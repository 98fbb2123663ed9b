"""Text that can be stored: in UTF-8, which has no halves of surrogate pairs. JSON can spell them, and names of files
have them where their bytes are of another encoding."""

from __future__ import annotations

import json

from perfreg_assets.reasons import Reason, Rejected


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
