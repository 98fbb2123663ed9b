"""Ctrl-C and SIGTERM end a collection, with the device cleaned, wherever they meet it.

Python raises the interrupt between any two steps of the main thread. Where these are a finaliser or a callback of the
interpreter's, it is dropped there with a message, and the collection would go on to its end: so it is noted, and
raised once more at the next report of progress.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_OWN = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
"""What handles a signal where nobody else does."""


class Ending:
    """Whether a collection was told to end."""

    def __init__(self) -> None:
        self._is_asked = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Both signals raise KeyboardInterrupt while the block runs; only where nobody else handles them."""
        found = threading.current_thread() is threading.main_thread()
        ours = {number: own for number, own in _OWN.items() if found and signal.getsignal(number) == own}
        for number in ours:
            signal.signal(number, self._interrupt)
        try:
            yield
        finally:
            for number, own in ours.items():
                signal.signal(number, own)

    def check(self) -> None:
        """Raises the interrupt that was dropped; none while one is on its way, which is when the device is cleaned."""
        if self._is_asked and not _is_on_its_way():
            raise KeyboardInterrupt

    def _interrupt(self, *_: object) -> None:
        self._is_asked = True
        raise KeyboardInterrupt


def _is_on_its_way() -> bool:
    error = sys.exc_info()[1]
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False
