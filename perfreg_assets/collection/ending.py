"""Ctrl-C and SIGTERM end a collection, with the device cleaned, wherever they meet it.

Python raises the interrupt between any two steps of the main thread. Where these are a finaliser or a callback of the
interpreter's, it is dropped there with a message, and the collection would go on to its end: so it is noted, and
raised once more at the next report of progress.

While what was collected is put into its place, and while the device is given back, the first signal is noted and no
more: what is under way then is what it would bring about. Another one ends that, too.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_OWN = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
"""What handles a signal where nobody else does."""


class Ending:
    """Whether a collection was told to end."""

    def __init__(self) -> None:
        self.is_asked = False
        self._is_put_off = False
        self._is_patient = False
        self._found: dict[signal.Signals, Any] = {}

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Both signals raise KeyboardInterrupt while the block runs; only where nobody else handles them."""
        if threading.current_thread() is threading.main_thread():
            self._found = {number: signal.getsignal(number) for number in _OWN}
        for number, handler in self._found.items():
            if handler == _OWN[number]:
                signal.signal(number, self._interrupt)
        try:
            yield
        finally:
            for number, handler in self._found.items():
                if signal.getsignal(number) == self._interrupt:
                    signal.signal(number, handler)

    def put_off(self) -> None:
        """From here to the end of `heard` the next signal is only noted, whoever handled them (Dagster does, in its
        runs); the one after it does what it did before."""
        self._is_put_off = self._is_patient = True
        for number, handler in self._found.items():
            if callable(handler):  # not where it is ignored
                signal.signal(number, self._interrupt)

    def check(self) -> None:
        """Raises the interrupt that was dropped; none while one is on its way, which is when the device is cleaned."""
        if self.is_asked and not self._is_put_off and not _is_on_its_way():
            raise KeyboardInterrupt

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self.is_asked = True
        if self._is_patient:
            self._is_patient = False
            return
        signal_number = signal.Signals(number)
        if self._found[signal_number] != _OWN[signal_number]:
            self._found[signal_number](number, frame)
        raise KeyboardInterrupt


def _is_on_its_way() -> bool:
    error = sys.exc_info()[1]
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False
