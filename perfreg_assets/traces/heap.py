"""What a process has freed, given back to the system."""

from __future__ import annotations

import ctypes
import sys


def give_back() -> None:
    """Memory that was freed and that the C library keeps for later goes back to the system, where that can be asked for
    (glibc): after many small pieces it may be a tenth of what is held."""
    if not sys.platform.startswith("linux"):
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # not in every C library
    if trim is not None:
        trim(0)
