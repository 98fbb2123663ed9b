"""Times of packets on the trace's clock: the boot time, or the one that the trace names as its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

BOOT, MONOTONIC = 6, 3
_OF_SEQUENCE = range(64, 128)
SUSPENDED_NS = 1_000_000_000
"""A sleep between two snapshots that is no longer is no sleep: clocks are read one after the other."""

Times = NDArray[np.int64]


class TraceClock:
    """Learns from clock snapshots as they come in the trace."""

    def __init__(self) -> None:
        self.base = BOOT
        self._pairs: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._steps: dict[tuple[int, int], tuple[bool, int]] = {}  # is incremental, nanoseconds in a unit
        self._now: dict[tuple[int, int], int] = {}
        self._asleep: list[tuple[int, int]] = []
        self._before: tuple[int, int] | None = None

    def learn(self, payload: bytes, sequence: int) -> None:
        """A clock snapshot, which a sequence brought.

        Raises:
            google.protobuf.message.DecodeError
        """
        snapshot = proto.ClockSnapshot.FromString(payload)
        if snapshot.primary_trace_clock:
            self.base = snapshot.primary_trace_clock
        at = {one.clock_id: one for one in snapshot.clocks}
        if BOOT in at and MONOTONIC in at:
            self._note_sleep(at[BOOT].timestamp, at[MONOTONIC].timestamp)
        base = self._base_time({key: one.timestamp for key, one in at.items()})
        if base is None:
            return
        for clock_id, one in at.items():
            key = self._key(clock_id, sequence)
            unit = one.unit_multiplier_ns or 1
            self._pairs.setdefault(key, []).append((one.timestamp * unit, base))
            self._steps[key] = one.is_incremental, unit
            self._now[key] = one.timestamp

    def _base_time(self, at: dict[int, int]) -> int | None:
        """What the trace's clock showed at a snapshot; one that lacks it is placed by the clocks that are known."""
        if self.base in at:
            return at[self.base]
        for clock_id, timestamp in at.items():
            if (clock_id, 0) in self._pairs and clock_id not in _OF_SEQUENCE:
                converted = self.to_trace(np.array([timestamp], np.int64), clock_id, 0)
                if converted is not None:
                    return int(converted[0])
        return None

    @property
    def suspended(self) -> list[tuple[int, int]]:
        """[start, end) of the trace's clock between snapshots between which the device slept."""
        return self._asleep

    @property
    def incremental_sequences(self) -> set[int]:
        """Sequences whose timestamps are differences to the one before."""
        return {sequence for (_, sequence), (is_incremental, _) in self._steps.items() if is_incremental and sequence}

    def to_trace(self, times: Times, clock: int, sequence: int) -> Times | None:
        """Times (n,) of packets of one sequence in their order; None where nothing tells how that clock runs."""
        if clock == self.base:
            return times
        key = self._key(clock, sequence)
        pairs = self._pairs.get(key)
        if pairs is None:
            return None
        is_incremental, unit = self._steps[key]
        own = times * unit
        if is_incremental:
            own = (np.cumsum(times) + self._now[key]) * unit
            self._now[key] = int(own[-1]) // unit if len(own) else self._now[key]
            placed: Times = own - pairs[-1][0] + pairs[-1][1]
            return placed
        known = np.array(pairs, np.int64)
        place = np.clip(np.searchsorted(known[:, 0], own, side="right") - 1, 0, None)
        converted: Times = own - known[place, 0] + known[place, 1]
        return converted

    @staticmethod
    def _key(clock: int, sequence: int) -> tuple[int, int]:
        return clock, sequence if clock in _OF_SEQUENCE else 0

    def _note_sleep(self, boot: int, monotonic: int) -> None:
        if self._before is not None:
            slept = (boot - self._before[0]) - (monotonic - self._before[1])
            if slept > SUSPENDED_NS:
                self._asleep.append((self._before[0], boot))
        self._before = boot, monotonic
