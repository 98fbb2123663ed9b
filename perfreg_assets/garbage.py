"""How often Python looks for garbage in processes that hold some thousand modules.

Each look at everything goes through all that was ever loaded, takes tenths of a second and finds nothing.
"""

from __future__ import annotations

import gc

_OBJECTS_BETWEEN_LOOKS = 50_000
"""Python's default is 700, or 2,000 from 3.14 on: right for small programs, not for 2,000 modules."""


def look_rarely() -> None:
    """For the process of a command, which ends soon."""
    gc.set_threshold(_OBJECTS_BETWEEN_LOOKS, 20, 50)


def pass_over_what_is_loaded() -> None:
    """For a process that may stay for weeks: what is there now is never looked at again, what comes is as ever."""
    gc.freeze()
