"""How far a piece of work is, in words, told to whoever shows it; where nobody does, it costs nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Watcher = Callable[[str], None]
T = TypeVar("T")

_watchers: list[Watcher] = []


@contextmanager
def watched(watcher: Watcher | None) -> Iterator[None]:
    """What is told in this process goes to `watcher` while the block runs."""
    if watcher is None:
        yield
        return
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def tell(message: str) -> None:
    for watcher in list(_watchers):
        watcher(message)


class Count:
    """So many of so many, and how long the rest takes at the pace so far.

    Args:
        what: what is counted and done: 'traces read'.
        first: how many were done when the clock began.
    """

    def __init__(self, total: int, what: str, *, first: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._what, self._first, self._clock = total, what, first, clock
        self._begin = clock()
        self.done = first

    def text(self, done: int, what: str | None = None) -> str:
        """'3 of 17 traces read, about 40 s yet'; without an estimate at the first and the last."""
        self.done = done
        pace = (self._clock() - self._begin) / (done - self._first) if done > self._first else 0.0
        left = pace * (self._total - done)
        yet = f", about {_duration(left)} yet" if left > 0 else ""
        return f"{done} of {self._total} {what or self._what}{yet}"

    def over(self, work: Iterable[T]) -> Iterator[T]:
        """Some of the work, each piece told as done when the next one is asked for."""
        for one in work:
            yield one
            tell(self.text(self.done + 1))


def counting(show: Watcher) -> Callable[[int, int, str], None]:
    """For work that reports (done, total, what) by itself; a smaller `done` or another total begins anew."""
    now: Count | None = None
    of = 0

    def progress(done: int, total: int, what: str) -> None:
        nonlocal now, of
        if now is None or total != of or done < now.done:
            now, of = Count(total, what, first=done), total
        show(now.text(done, what))

    return progress


def _duration(seconds: float) -> str:
    return f"{max(1, round(seconds))} s" if seconds < 90 else f"{round(seconds / 60)} min"
