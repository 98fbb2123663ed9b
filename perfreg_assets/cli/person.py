"""Who gives a command: the name that is kept with what it changes."""

from __future__ import annotations

import getpass


def whoever_asks() -> str | None:
    """The user's name by the environment or the system; None where neither says one, in a container say."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # KeyError before Python 3.13
        return None
