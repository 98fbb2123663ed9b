"""What processes used in each second of a trace: running time and resident memory, which outlive what is cut away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from perfreg_assets.methods.lazy import LazyModule
from perfreg_assets.methods.thread_times import UNKNOWN
from perfreg_assets.traces.packets import Block, scanner

running_seconds = LazyModule("perfreg_assets.methods.running_seconds")

PROCESS_STATS = 9
_SHORTEST_S = 0.0005  # less is not told: it is below what the rounding to milliseconds shows
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class SecondUse:
    """Of each second from the first window on; processes by name with `#` for every number.

    Attributes:
        running_s: process → seconds that its threads ran, on all cores together.
        rss_bytes: process → resident memory when it was last polled in that second; empty where it was not.
    """

    running_s: tuple[dict[str, float], ...]
    rss_bytes: tuple[dict[str, int], ...]


class SecondUses:
    """Collects it as a trace is read."""

    def __init__(self, start_ns: int, processes: NDArray[np.uint64], names: dict[int, str]) -> None:
        """
        Args:
            processes, names: as `event_types.Survey` has them.
        """
        self._start, self._processes = start_ns, processes
        self._hash_names = names
        known = np.array(sorted(names), np.uint64)
        self._names = [*(names[one] for one in known.tolist()), UNKNOWN]
        self._running = running_seconds.RunningSeconds(start_ns, processes, known)
        self._rss: dict[int, dict[int, int]] = {}

    def add(self, block: Block, times: NDArray[np.int64], events: object) -> None:
        """The next block, with the times of its packets and the events of its bundles."""
        self._running.add(events)
        for number in np.flatnonzero(block.rows[:, scanner.FIELD] == PROCESS_STATS).tolist():
            if times[number] < self._start:
                continue
            try:
                polled = proto.ProcessStats.FromString(block.payload(number))
            except DecodeError:  # a damaged packet is kept in the cut and tells nothing here
                continue
            second = self._rss.setdefault(int(times[number] - self._start) // _SECOND_NS, {})
            second.update({one.pid: one.vm_rss_kb * 1024 for one in polled.processes if one.vm_rss_kb})

    def told(self, end_ns: int) -> SecondUse:
        """Of all seconds until the last event."""
        count = max(0, end_ns - self._start) // _SECOND_NS + 1
        running = self._running.seconds
        return SecondUse(
            tuple(self._named(running[number] if number < len(running) else ()) for number in range(count)),
            tuple(self._memory(self._rss.get(number, {})) for number in range(count)),
        )

    def _named(self, seconds: Sequence[float] | NDArray[np.float32]) -> dict[str, float]:
        found: dict[str, float] = {}
        for column in np.flatnonzero(np.asarray(seconds) >= _SHORTEST_S).tolist():
            name = self._names[column]
            found[name] = round(found.get(name, 0.0) + float(seconds[column]), 3)
        return found

    def _memory(self, polled: dict[int, int]) -> dict[str, int]:
        found: dict[str, int] = {}
        for pid, size in polled.items():
            known = self._hash_names.get(int(self._processes[pid]), UNKNOWN) if 0 <= pid < scanner.MAX_TID else UNKNOWN
            found[known] = found.get(known, 0) + size
        return found
