"""A process that permissions hold for: root's tests would pass them all."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION_3 = 0x20080522
_PASSES_PERMISSIONS = 0b110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


@contextmanager
def unprivileged() -> Iterator[None]:
    """While the block runs permissions hold for this thread, and those that it begins, whoever it is."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    before = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable: the lower halves, then the upper ones
    _call(libc.capget, header, before)
    now = (ctypes.c_uint32 * 6)(before[0] & ~_PASSES_PERMISSIONS, *before[1:])
    _call(libc.capset, header, now)
    try:
        yield
    finally:
        _call(libc.capset, header, before)


def _call(function: ctypes._CFuncPtr, *arguments: object) -> None:
    if function(*arguments) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
