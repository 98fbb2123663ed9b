"""Standard streams that whoever started the command has closed: what goes there is lost, and the command goes on.

Python has no object for them then, and the next file that is opened gets the number of one: what is printed for people
would land in it.
"""

from __future__ import annotations

import os
import sys

_MODES = {"stdin": "r", "stdout": "w", "stderr": "w"}
"""In the order of their numbers: the system gives the lowest that is free."""


def open_again() -> None:
    """Opens the null device for each that is closed."""
    for number, (name, mode) in enumerate(_MODES.items()):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor == number:
                os.set_inheritable(descriptor, True)  # programs that the command starts have it as well
            stream = os.fdopen(descriptor, mode, encoding="utf-8", errors="backslashreplace")
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)  # keeps it open where another takes its place
