"""How long cores were busy at which frequency, for whom, and what share of cluster and processor that was.

As Android's own estimate takes it: a core costs while it is out of idle, where the trace tells, or a thread other than
idle runs on it; `cluster_power` is drawn while any core of the cluster costs and `cpu.active` while any core does, each
instant of them shared equally by the cores that cost then. What a core costs without a thread is a wake-up, nobody's.

A core that is taken down, by hotplug or before the device sleeps, leaves idle for its stopper thread and never says
that it is idle again. So one that has no thread and tells nothing for longer than `QUIET_NS`, and then not that it goes
idle, is off from its last word on. One with a thread costs however long it is silent.

Times are whole numbers of 1/`unit` ns, unit being divisible by every number of cores: shares add up exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.lazy import LazyModule
from perfreg_assets.methods.power_profile import PowerProfile

kernels = LazyModule("perfreg_assets.methods.power_kernels")

Ints = npt.NDArray[np.int64]
THREAD, STATE, AWAKE, SEGMENT = 0, 1, 2, 3
"""Kinds of events, see `Events`. Compiled kernels have them built in: changing one takes a change in their file."""
SCOPES = ("app", "others", "wakeups")
CORE, CLUSTER, ACTIVE = "cpu_core", "cpu_cluster", "cpu_active"
PARTS = (CORE, CLUSTER, ACTIVE)
"""What a time is paid for: the core itself, its share of its cluster, and of the processor."""
MOST_CORES = 16
QUIET_NS = 500_000_000
"""The longest wake-up without a word in recorded traces took 77 ms: an awake core without a thread goes idle again."""


@dataclass(frozen=True)
class Events:
    """What happened on the cores, (n,) each, in order of time; at one moment a thread ends before another begins.

    `kind` and `value`: THREAD: the thread that runs from now on, -1 none. STATE: the core's frequency, as a number of
    `States`. AWAKE: 0 idle, 1 not. SEGMENT: the segment of time that begins, -1 none (its `core` says nothing).
    """

    ts: Ints
    core: Ints
    kind: Ints
    value: Ints

    @classmethod
    def ordered(cls, parts: Sequence[tuple[Ints, Ints, int, Ints]]) -> Events:
        """Of parts (ts, core, kind, value), each (n,): those of one moment stay in the order of the parts."""
        ts, core, value = (np.concatenate([np.asarray(part[k], np.int64) for part in parts]) for k in (0, 1, 3))
        kind = np.concatenate([np.full(len(part[0]), part[2], np.int64) for part in parts])
        order = np.argsort(ts, kind="stable")
        return cls(ts[order], core[order], kind[order], value[order])


@dataclass(frozen=True)
class States:
    """Every (cluster, frequency) that cores had: `cluster` (n,) and `khz` (n,) of each, in ascending order."""

    cluster: Ints
    khz: Floats

    def __len__(self) -> int:
        return len(self.cluster)


@dataclass(frozen=True)
class StateTimes:
    """Attributes:
    states: what the second axis stands for.
    segments: (segments, states, 3 scopes, 3 parts) whole 1/`unit` ns; the core's own (part 0) in whole ns.
    threads: (threads, states, 3 parts), the same of each thread.
    """

    states: States
    unit: int
    segments: Ints
    threads: Ints

    def seconds(self) -> Floats:
        """Of all segments, as `segments`, in s."""
        return self.segments / self._per_second

    def thread_seconds(self) -> Floats:
        """Of all threads, as `threads`, in s."""
        return self.threads / self._per_second

    @property
    def _per_second(self) -> Floats:
        return np.array([1e9, 1e9 * self.unit, 1e9 * self.unit])


def times_in_states(
    events: Events,
    states: States,
    cluster_of: Ints,
    owner_of: Ints,
    segment_count: int,
    quiet_ns: int = QUIET_NS,
) -> StateTimes:
    """One pass over all events.

    Args:
        cluster_of: (cores,) number of each core's cluster.
        owner_of: (threads,) 0 the app's, 1 another's.
        segment_count: how many segments the events name.
        quiet_ns: longer than that, nobody's core that tells nothing is off.

    Raises:
        ValueError: more than 16 cores, of which nobody shares exactly.
    """
    cores = len(cluster_of)
    if cores > MOST_CORES:
        raise ValueError(f"{cores} cores, at most {MOST_CORES} are shared exactly")
    unit = math.lcm(*range(1, cores + 1))
    shares = np.array([0, *(unit // k for k in range(1, cores + 1))], np.int64)
    times, threads = kernels.sweep(
        *(events.ts, events.core, events.kind, events.value),
        *(
            np.asarray(cluster_of, np.int64),
            np.asarray(owner_of, np.int64),
            shares,
            len(states),
            segment_count,
            quiet_ns,
        ),
    )
    return StateTimes(states, unit, times, threads)


def levels(profile: PowerProfile, states: States) -> Floats:
    """mA of each state (states, 3 parts): a core, its cluster, the processor."""
    found = np.zeros((len(states), len(PARTS)))
    for number in np.unique(states.cluster).tolist():
        own = states.cluster == number
        found[own, 0] = profile.charge_of(number, states.khz[own])
        found[own, 1] = profile.cluster(number).cluster_ma
    found[:, 2] = profile.active_ma
    return found
