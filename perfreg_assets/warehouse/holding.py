"""The database that a job writes to, kept open from one of its steps to the next: to open it, replay its log and close
it costs more than most of what a step asks of it, and a job of ten steps reads and writes some twenty times.

It is kept together with the writers' lock, so nobody else opens the file meanwhile. Who waits for that lock gets it
`IDLE_S` after the last use, and at least every `MOST_S` of a job that never rests.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field

import duckdb

from perfreg_assets.warehouse.lock import POLL_S
from perfreg_assets.warehouse.written_pages import Opened

IDLE_S = 1.0
MOST_S = 3.0

Key = tuple[int, str, str]
"""The process, as a fork must not use what it inherits; the file; the folder of its large values."""


_File = tuple[int, int]


def _file_at(path: str) -> _File | None:
    """Which file is there; None where there is none, or an empty one."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return (found.st_dev, found.st_ino) if found.st_size else None


class Holding:
    """The writers' lock, and the database once it was asked for."""

    def __init__(self, path: str, lock: AbstractContextManager[None]) -> None:
        """
        Args:
            path: of the database's file.
            lock: entered at once.
        """
        self._path = path
        self._stack = ExitStack()
        self._stack.enter_context(lock)
        self._opened: Opened | None = None
        self._file: _File | None = None
        self.since = time.monotonic()
        self.timer: threading.Timer | None = None

    @property
    def is_open(self) -> bool:
        return self._opened is not None

    def connection(self, make: Callable[[], Opened]) -> duckdb.DuckDBPyConnection:
        """The open database; `make` opens it where it is not, and anew where its file was taken away or replaced: what
        the open one would write nobody would find."""
        if self._opened is not None and _file_at(self._path) != self._file:
            self.close()
        if self._opened is None:
            self._opened = make()
            self._file = _file_at(self._path)
        return self._opened.connection

    def close(self) -> None:
        """Closes the database and keeps the lock; a transaction that is open is rolled back."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def end(self) -> None:
        """Closes the database and leaves the lock."""
        try:
            self.close()
        finally:
            self._stack.close()


@dataclass
class Holdings:
    """Those that wait for the next step, one for each file."""

    _idle: dict[Key, Holding] = field(default_factory=dict)
    _wanted: Counter[Key] = field(default_factory=Counter)
    """How many threads of this process wait for the lock: for them nothing is kept."""
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def one_for(self, path: str, data: str, lock: Callable[[], AbstractContextManager[None]]) -> Iterator[Holding]:
        """The one that waited, or else a new one. After the block it waits again if it is open and nothing failed.

        Raises:
            Rejected: what entering `lock` raises.
        """
        key = (os.getpid(), path, data)
        holding = self._taken(key) or self._made(key, lock)
        try:
            yield holding
        except BaseException:  # nobody knows what the connection still holds
            holding.end()
            raise
        self._give_back(key, holding)

    def end(self, path: str, data: str) -> None:
        """Ends the one that waits for a step of a job, where somebody else of this process wants the file."""
        holding = self._taken((os.getpid(), path, data))
        if holding is not None:
            holding.end()

    def end_all(self) -> None:
        """Ends all that wait."""
        with self._mutex:
            waiting = list(self._idle)
        for pid, path, data in waiting:
            if pid == os.getpid():
                self.end(path, data)

    def _taken(self, key: Key) -> Holding | None:
        with self._mutex:
            holding = self._idle.pop(key, None)
        if holding is not None and holding.timer is not None:
            holding.timer.cancel()
        return holding

    def _made(self, key: Key, lock: Callable[[], AbstractContextManager[None]]) -> Holding:
        with self._mutex:
            self._wanted[key] += 1
        try:
            return Holding(key[1], lock())
        finally:
            with self._mutex:
                self._wanted[key] -= 1

    def _give_back(self, key: Key, holding: Holding) -> None:
        is_over = time.monotonic() - holding.since >= MOST_S
        with self._mutex:
            is_kept = holding.is_open and not is_over and not self._wanted[key]
            if is_kept:
                holding.timer = threading.Timer(IDLE_S, self._expire, (key, holding))
                holding.timer.daemon = True
                self._idle[key] = holding
                holding.timer.start()
        if is_kept:
            return
        holding.end()
        if is_over:
            time.sleep(2 * POLL_S)  # long enough for who waits to look

    def _expire(self, key: Key, holding: Holding) -> None:
        with self._mutex:
            is_idle = self._idle.get(key) is holding
            if is_idle:
                del self._idle[key]
        if is_idle:
            holding.end()


HELD = Holdings()
atexit.register(HELD.end_all)
