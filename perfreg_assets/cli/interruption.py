"""Ctrl-C ends a command soon, with one line and status 130, whatever the libraries below make of it; SIGTERM with 143.

Dagster turns an interrupt into a failed step, a thread pool waits for its threads, and a kernel that compiles hears
nothing. So a thread of ours hears both too: what has not ended by itself when the patience is over is ended. Everything
that is written is written to bear that (a killed writer leaves the warehouse as it was), so nothing is lost by it.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass, field

from perfreg_assets import terminal
from perfreg_assets.own_scratch import remove_all

_PATIENCE_S = 1.5
_TOLD = {signal.SIGINT: "interrupted", signal.SIGTERM: "ended by SIGTERM"}
_GOES_ON = "what was done is kept, `perfreg status` says what is left, and the same command goes on"


@dataclass
class _Watch:
    """Of this process."""

    is_wanted: bool = False
    goes_on: bool = True
    number: signal.Signals = signal.SIGINT
    ends: tuple[socket.socket, ...] = ()  # where the numbers of signals come out, and go in
    happened: threading.Event = field(default_factory=threading.Event)
    is_told: threading.Lock = field(default_factory=threading.Lock)


_watch = _Watch()


def allow() -> None:
    """From now on commands may watch: the process is one command, and not a test or somebody's program."""
    _watch.is_wanted = True


def hear(*, goes_on: bool = True) -> None:
    """From here on Ctrl-C is a KeyboardInterrupt, if that was allowed: what begins now may have something to keep.

    Args:
        goes_on: what was begun is gone on with by the same command, which `tell` says then.
    """
    _watch.goes_on = goes_on
    is_main = threading.current_thread() is threading.main_thread()
    if _watch.is_wanted and is_main and callable(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def begin(*, ends_soon: bool = True) -> None:
    """Watches for Ctrl-C and SIGTERM from here to the end of the process, if that was allowed.

    Args:
        ends_soon: what has not ended when the patience is over is ended; False: it has something to clean, however long
            that takes.
    """
    if not _watch.is_wanted or threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    heard, told = socket.socketpair()
    told.setblocking(False)
    signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)  # by the interpreter, whichever handler is in force
    _watch.ends = heard, told
    sys.unraisablehook = _unraisable
    threading.Thread(target=_listen, args=(heard, ends_soon), daemon=True, name="interruption").start()


def _unraisable(what: sys.UnraisableHookArgs) -> None:
    """Where an interrupt meets a callback of the interpreter's, it goes no further; our thread has heard it.

    A library's handler may raise it by a name of its own (Dagster's does while a run goes on): no `Exception` either.
    """
    if issubclass(what.exc_type, Exception) or not happened():
        sys.__unraisablehook__(what)


def happened() -> bool:
    """Whether the command was told to end, though nobody may have heeded it."""
    while _watch.ends and select.select([_watch.ends[0]], [], [], 0)[0]:  # our thread has not looked at it yet
        time.sleep(0.001)
    return _watch.happened.is_set()


def heed() -> None:
    """Raises KeyboardInterrupt where the command was told to end: somebody below may have made a failure of it."""
    if happened():
        raise KeyboardInterrupt


def status() -> int:
    """128 and the signal's number, as shells give it."""
    return 128 + _watch.number


def tell() -> None:
    """The one line, once."""
    happened()  # which signal it was
    if _watch.is_told.acquire(blocking=False):
        told = _TOLD[_watch.number]
        terminal.fail(f"{told}; {_GOES_ON}" if _watch.goes_on else told)


def _listen(heard: socket.socket, ends_soon: bool) -> None:
    while not _watch.happened.is_set():
        numbers = heard.recv(64, socket.MSG_PEEK)
        known = next((number for number in _TOLD if number in numbers), None)
        if known is not None:
            _watch.number = known
            _watch.happened.set()
        heard.recv(len(numbers))  # taken only now, so that `happened` misses none in between
    if not ends_soon:
        return
    threading.Event().wait(_PATIENCE_S)
    tell()
    remove_all()
    os._exit(status())
