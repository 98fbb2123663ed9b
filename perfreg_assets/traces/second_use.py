"""What happened in each second of a trace, which outlives what is cut away: events, running time, resident memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from perfreg_assets.methods.app_load import Load, load_of
from perfreg_assets.methods.lazy import LazyModule
from perfreg_assets.methods.thread_times import UNKNOWN, entity_name
from perfreg_assets.traces.packets import Block, scanner

running_seconds = LazyModule("perfreg_assets.methods.running_seconds")

PROCESS_STATS = 9
SECOND_NS = 1_000_000_000
_Number = TypeVar("_Number", int, float)
_SHORTEST_S = 0.0005  # less is not told: it is below what the rounding to milliseconds shows


@dataclass(frozen=True)
class SecondUse:
    """Of each second from the first window on, whatever the length of windows; processes by name with `#` for every
    number.

    Attributes:
        start_ns: of the first second, on the trace's clock.
        counts: (seconds, types + 1) uint32, how often each type of event occurred, as in `EventWindows.counts`.
        running_s: process → seconds that its threads ran, on all cores together.
        rss_bytes: process → resident memory when it was last polled in that second; empty where it was not.
        rise_bytes: process → by how much its memory rose from the poll before to the last one of that second, falls not
            taken off: its anonymous part, or what is resident where the poll does not tell them apart.
    """

    start_ns: int
    counts: NDArray[np.uint32]
    running_s: tuple[dict[str, float], ...]
    rss_bytes: tuple[dict[str, int], ...]
    rise_bytes: tuple[dict[str, int], ...]

    def __len__(self) -> int:
        return len(self.running_s)

    def within(self, first: int, last: int) -> SecondUse:
        """The seconds in [first, last)."""
        return SecondUse(
            self.start_ns + first * SECOND_NS, self.counts[first:last], self.running_s[first:last],
            self.rss_bytes[first:last], self.rise_bytes[first:last],
        )  # fmt: skip

    def followed_by(self, other: SecondUse) -> SecondUse:
        """The same with what was read behind it. A second in which this one ends and the other begins is one: what
        occurred in both its parts together, and the memory that was polled last."""
        at = (other.start_ns - self.start_ns) // SECOND_NS
        if at < len(self) and len(other):
            both = self.within(at, at + 1)._together(other.within(0, 1))
            return self.within(0, at).followed_by(both).followed_by(other.within(1, len(other)))
        missing = max(at - len(self), 0)
        none: tuple[dict[str, Any], ...] = ({},) * missing
        counts = np.pad(self.counts, ((0, missing), (0, 0)))
        return SecondUse(
            self.start_ns, np.concatenate([counts, other.counts]), self.running_s + none + other.running_s,
            self.rss_bytes + none + other.rss_bytes, self.rise_bytes + none + other.rise_bytes,
        )  # fmt: skip

    def _together(self, other: SecondUse) -> SecondUse:
        """Of the same seconds, of which the other has a later part."""
        return SecondUse(
            self.start_ns,
            self.counts + other.counts,
            tuple(map(_added, self.running_s, other.running_s)),
            tuple({**before, **after} for before, after in zip(self.rss_bytes, other.rss_bytes, strict=True)),
            tuple(map(_added, self.rise_bytes, other.rise_bytes)),
        )

    def load(self, app: str) -> Load:
        """Of the processes of an app: its own and those that are named `app:…`."""
        name = entity_name(app)

        def own(process: str) -> bool:
            return process == name or process.startswith(f"{name}:")

        running = [sum(spent for process, spent in second.items() if own(process)) for second in self.running_s]
        is_polled = any(own(process) for second in self.rss_bytes for process in second)
        rises = [sum(size for process, size in second.items() if own(process)) for second in self.rise_bytes]
        return load_of(running, rises if is_polled else None)


class SecondUses:
    """Collects it as a trace is read."""

    def __init__(
        self, start_ns: int, processes: NDArray[np.uint64], names: dict[int, str], second_start_ns: int
    ) -> None:
        """
        Args:
            processes, names: as `event_types.Survey` has them.
            second_start_ns: of the first second, at `start_ns` or within a second before it.
        """
        self._start, self._processes, self._second_start = start_ns, processes, second_start_ns
        self._hash_names = names
        known = np.array(sorted(names), np.uint64)
        self._names = [*(names[one] for one in known.tolist()), UNKNOWN]
        self._running = running_seconds.RunningSeconds(start_ns, processes, known, second_start_ns)
        self._rss: dict[int, dict[int, int]] = {}
        self._anon: dict[int, dict[int, int]] = {}

    def add(self, block: Block, times: NDArray[np.int64], events: object) -> None:
        """The next block, with the times of its packets and the events of its bundles."""
        self._running.add(events)
        for number in np.flatnonzero(block.rows[:, scanner.FIELD] == PROCESS_STATS).tolist():
            try:
                polled = proto.ProcessStats.FromString(block.payload(number))
            except DecodeError:  # a damaged packet is kept in the cut and tells nothing here
                continue
            # What was polled before the start is what memory rises from.
            at = int(times[number])
            second = (at - self._second_start) // SECOND_NS if at >= self._start else -1
            resident = {one.pid: one.vm_rss_kb * 1024 for one in polled.processes if one.vm_rss_kb}
            anonymous = {one.pid: one.rss_anon_kb * 1024 for one in polled.processes if one.HasField("rss_anon_kb")}
            self._rss.setdefault(second, {}).update(resident)
            self._anon.setdefault(second, {}).update(anonymous)

    def told(self, end_ns: int, counts: NDArray[np.uint32]) -> SecondUse:
        """Of all seconds until the last event.

        Args:
            counts: (seconds or more or fewer, types + 1) of events.
        """
        count = max(0, end_ns - self._second_start) // SECOND_NS + 1
        running = self._running.seconds
        lacking = max(count - len(counts), 0)
        return SecondUse(
            self._second_start,
            np.pad(counts[:count], ((0, lacking), (0, 0))),
            tuple(self._named(running[number] if number < len(running) else ()) for number in range(count)),
            tuple(self._memory(self._rss.get(number, {})) for number in range(count)),
            self._rises(count),
        )

    def _rises(self, count: int) -> tuple[dict[str, int], ...]:
        last: dict[int, int] = {}
        apart = {pid for polled in self._anon.values() for pid in polled}
        found: list[dict[str, int]] = []
        for number in range(-1, count):
            polled = {pid: size for pid, size in self._rss.get(number, {}).items() if pid not in apart}
            polled |= self._anon.get(number, {})
            risen = {pid: size - last[pid] for pid, size in polled.items() if size > last.get(pid, size)}
            last |= polled
            found.append(self._memory(risen))
        return tuple(found[1:])

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


def _added(one: dict[str, _Number], other: dict[str, _Number]) -> dict[str, _Number]:
    return one | {name: round(one.get(name, 0) + value, 3) for name, value in other.items()}
