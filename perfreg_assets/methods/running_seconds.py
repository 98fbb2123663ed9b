"""Running time by second from switches of threads, as a trace is read: bundle by bundle, in bounded memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from perfreg_assets.methods.packet_scanner import MAX_TID, SECOND_NS, SWITCH, BundleEvents

MAX_CORES = 1024
_NOBODY = -1


@njit(cache=True, nogil=True)
def _add(
    times: Any, kinds: Any, tids: Any, ends: Any, cores: Any, lossy: Any, columns: Any, since: Any, running: Any,
    start: int, second_start: int, seconds: Any,
) -> None:  # fmt: skip
    """Adds what ran on each core until each of its switches, and remembers what runs since the last one."""
    first = 0
    for b in range(ends.shape[0]):
        core = cores[b]
        if core < 0 or core >= since.shape[0]:
            first = ends[b]
            continue
        if lossy[b]:
            running[core] = _NOBODY
        for i in range(first, ends[b]):
            if kinds[i] != SWITCH:
                continue
            at = max(since[core], start)
            until = times[i]
            if running[core] > 0 and until > at:
                column = columns[running[core]]
                while at < until:
                    second = (at - second_start) // SECOND_NS
                    stop = min(until, second_start + (second + 1) * SECOND_NS)
                    if second < seconds.shape[0]:
                        seconds[second, column] += np.float32((stop - at) / 1e9)
                    at = stop
            since[core] = until
            running[core] = tids[i]
        first = ends[b]


class RunningSeconds:
    """Seconds that each process ran since `start_ns` in each second; the idle thread is nobody's.

    Attributes:
        seconds: (seconds, processes + 1) float32, the last column of threads whose process is not known.
    """

    def __init__(
        self, start_ns: int, processes: NDArray[np.uint64], known: NDArray[np.uint64], second_start_ns: int
    ) -> None:
        """
        Args:
            second_start_ns: of the first second, at `start_ns` or within a second before it.
            processes: (MAX_TID,) hash of the process of each thread, 0 where it is not known.
            known: (processes,) the hashes that have a column, ascending.
        """
        self._start, self._second_start = start_ns, second_start_ns
        self._columns = np.full(MAX_TID, len(known), np.int32)
        if len(known):
            place = np.minimum(np.searchsorted(known, processes), len(known) - 1)
            self._columns[known[place] == processes] = place[known[place] == processes]
        self._since = np.full(MAX_CORES, -1, np.int64)
        self._running = np.full(MAX_CORES, _NOBODY, np.int32)
        self.seconds = np.zeros((0, len(known) + 1), np.float32)

    def add(self, events: BundleEvents) -> None:
        """The next bundles, each core's in order of time."""
        last = int(events.last.max(initial=-1))
        if last < self._start:
            return
        needed = (last - self._second_start) // SECOND_NS + 1
        if needed > len(self.seconds):
            grown = np.zeros((max(needed, len(self.seconds) * 3 // 2, 64), self.seconds.shape[1]), np.float32)
            grown[: len(self.seconds)] = self.seconds
            self.seconds = grown
        _add(
            events.times, events.kinds, events.tids, events.ends, events.core, events.is_lossy, self._columns,
            self._since, self._running, self._start, self._second_start, self.seconds,
        )  # fmt: skip
