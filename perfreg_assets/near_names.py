"""What somebody may have meant who misspelt a name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_COUNT = 3


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> list[str]:
    """The known names that are most like this one, the most alike first; three at most.

    Args:
        cutoff: the least similarity, 0 to 1, as `difflib.SequenceMatcher.ratio` gives it.
    """
    return get_close_matches(name, list(known), _COUNT, cutoff)


def did_you_mean(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """` (did you mean a or b?)`, to go behind the name in a message; empty where nothing is near."""
    near = nearest(name, known, cutoff=cutoff)
    return f" (did you mean {' or '.join(near)}?)" if near else ""
