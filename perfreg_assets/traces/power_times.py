"""What a trace tells of its cores' states: scheduling, frequencies and idle states, as times to be paid for.

No profile is needed for the times themselves, so that any may be put on them later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from perfreg_assets.methods.power_profile import PowerProfile, fit_ratio, layout
from perfreg_assets.methods.power_states import (
    AWAKE,
    MOST_CORES,
    SEGMENT,
    STATE,
    THREAD,
    Events,
    States,
    StateTimes,
    times_in_states,
)
from perfreg_assets.traces.core_counters import Awake
from perfreg_assets.traces.engine import QueryError
from perfreg_assets.traces.frequency import Clock
from perfreg_assets.traces.scope import Scope
from perfreg_assets.traces.statements import statement

_KHZ_BITS = 32  # of a number that stands for cluster and frequency
_SAME_MOMENT_NS = 1_000_000  # in recorded traces cores of one clock told each change within that time
_LEAST_ALIKE = 0.98  # of the samples of two cores of one clock; 99.5 % were in recorded traces, the others a step apart
_NO_SCHED = "the trace has no scheduling events (sched/sched_switch)"


@dataclass(frozen=True)
class CoreStates:
    """What the cores of a trace did, before any profile.

    Attributes:
        cores: numbers of the cores that ran, ascending.
        seen_clusters: first core of each group of neighbours whose frequency changed together.
        awake: None where the trace does not tell.
        late_ratio: share of the cores' time before the first sample of their frequency, whose value is held backwards.
        available: asks the trace: core → kHz (n,) ascending that it can run at; empty where it does not tell.
    """

    cores: tuple[int, ...]
    clocks: dict[int, Clock]
    seen_clusters: tuple[int, ...]
    awake: Awake | None
    late_ratio: float
    available: Callable[[], Mapping[int, np.ndarray]] = dict
    _sampled: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray, np.ndarray]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def has_idle_states(self) -> bool:
        return self.awake is not None

    def samples(self, first_cores: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(cluster, kHz, how often) of the frequencies that were sampled, (n,) each."""
        key = tuple(first_cores)
        if key not in self._sampled:
            self._sampled[key] = self._samples(key)
        return self._sampled[key]

    def _samples(self, first_cores: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        owners = [cluster_of(core, first_cores) for core in self.clocks]
        clusters = np.repeat(owners, [len(clock.khz) for clock in self.clocks.values()]).astype(np.int64)
        khz = np.concatenate([np.empty(0), *(clock.khz for clock in self.clocks.values())]).astype(np.int64)
        keys, counts = np.unique(clusters << _KHZ_BITS | khz, return_counts=True)
        return keys >> _KHZ_BITS, keys & ((1 << _KHZ_BITS) - 1), counts

    def frequencies(self, first_cores: Sequence[int]) -> list[np.ndarray]:
        """Of each cluster (n,) the frequencies seen, ascending."""
        clusters, khz, _ = self.samples(first_cores)
        return [np.unique(khz[clusters == number]).astype(np.float64) for number in range(len(first_cores))]

    def available_frequencies(self, first_cores: Sequence[int]) -> list[np.ndarray]:
        """Of each cluster (n,) the frequencies that its cores can run at, ascending; empty where the trace does not
        tell them of every cluster."""
        found: list[np.ndarray] = []
        available = self.available()
        for number in range(len(first_cores)):
            own = [khz for core, khz in available.items() if cluster_of(core, first_cores) == number]
            if not own:
                return []
            found.append(np.unique(np.concatenate(own)))
        return found

    def fit(self, profile: PowerProfile) -> float:
        """Share of the frequency samples that the profile's tables have; 0 where it has other cores."""
        first_cores = layout(profile, self.cores, self.seen_clusters)
        return 0.0 if first_cores is None else fit_ratio(profile, *self.samples(first_cores))


def cluster_of(core: int, first_cores: Sequence[int]) -> int:
    """Number of the cluster that a core belongs to."""
    return int(np.searchsorted(first_cores, core, side="right")) - 1


def core_states(scope: Scope) -> CoreStates | str:
    """What the trace tells of its cores, or which source it lacks.

    Raises:
        Rejected: ENGINE_…
    """
    sched, clocks = scope.contents.sched, scope.clocks
    if not sched.count:
        return _NO_SCHED
    if isinstance(clocks, str):
        return clocks
    cores = tuple(int(core) for core in sched.cores)
    without = [core for core in cores if core not in clocks]
    if without:
        return f"core {without[0]} ran without a recorded frequency"
    if cores[-1] >= MOST_CORES:
        return f"core {cores[-1]} ran, power is estimated of at most {MOST_CORES} cores"
    clocks = {core: clocks[core] for core in cores}
    span = max(1, scope.grid.end_ns - scope.grid.start_ns)
    late = [min(max(0, int(clock.ts[0]) - scope.grid.start_ns), span) for clock in clocks.values()]
    late_ratio = sum(late) / (span * len(cores))
    awake = scope.core_counters.awake
    return CoreStates(cores, clocks, _seen_clusters(clocks), awake, late_ratio, partial(_available, scope))


def _available(scope: Scope) -> dict[int, np.ndarray]:
    try:
        rows = scope.session.query(statement("cpu_available_frequencies"), {"cpu": "int64", "khz": "int64"})
    except QueryError:  # an engine of another release
        return {}
    return {
        core: np.unique(rows["khz"][rows["cpu"] == core]).astype(np.float64) for core in np.unique(rows["cpu"]).tolist()
    }


def _seen_clusters(clocks: dict[int, Clock]) -> tuple[int, ...]:
    first: list[int] = []
    before: Clock | None = None
    for core, clock in sorted(clocks.items()):
        if before is None or not _changed_together(before, clock):
            first.append(core)
        before = clock
    return tuple(first)


def _changed_together(one: Clock, other: Clock) -> bool:
    """Whether all samples of two cores are the same, or nearly all and at the same moments, of the same frequencies."""
    if len(one.khz) != len(other.khz):
        return False
    is_same = one.khz == other.khz
    if is_same.all():
        return True
    is_same &= np.abs(one.ts - other.ts) <= _SAME_MOMENT_NS
    return bool(is_same.mean() >= _LEAST_ALIKE) and np.array_equal(np.unique(one.khz), np.unique(other.khz))


def times_of(scope: Scope, known: CoreStates, first_cores: Sequence[int], borders: np.ndarray) -> StateTimes:
    """Times in every state by segment, and by thread over all of them.

    Args:
        first_cores: see `layout`.
        borders: (segments + 1,) int64 ns, ascending.
    """
    sched = scope.contents.sched
    place = np.full(max(known.cores) + 1, -1, np.int64)
    place[list(known.cores)] = np.arange(len(known.cores))
    clusters = np.array([cluster_of(core, first_cores) for core in known.cores], np.int64)
    states, parts = _frequency_events(known, clusters, int(borders[0]))
    lasts = sched.end_ns > sched.start_ns
    start, end, cpu, utid = (one[lasts] for one in (sched.start_ns, sched.end_ns, sched.cpu, sched.utid))
    threads = np.concatenate([utid, scope.utids, scope.idle_utids]).astype(np.int64)
    owner = np.ones(int(threads.max(initial=0)) + 1, np.int64)
    owner[scope.utids] = 0
    cpu = place[cpu]
    runs = utid.copy()
    runs[np.isin(utid, scope.idle_utids, kind="table")] = -1
    if known.awake is not None:
        ts, core, is_awake = known.awake
        here = core < len(place)
        here[here] = place[core[here]] >= 0
        parts.append((ts[here], place[core[here]], AWAKE, is_awake[here].astype(np.int64)))
    is_last = _followed_by_none(start, end, cpu)
    parts += [
        (end[is_last], cpu[is_last], THREAD, np.full(int(is_last.sum()), -1, np.int64)),
        (start, cpu, THREAD, runs),
        (borders, np.zeros(len(borders), np.int64), SEGMENT, np.append(np.arange(len(borders) - 1), -1)),
    ]
    return times_in_states(Events.ordered(parts), states, clusters, owner, len(borders) - 1)


def _followed_by_none(start: np.ndarray, end: np.ndarray, cpu: np.ndarray) -> np.ndarray:
    """The mask of slices whose core has no next one that begins where they end."""
    order = np.argsort(cpu.astype(np.int16), kind="stable")
    is_last = np.ones(len(start), bool)
    is_last[order[:-1]] = (cpu[order[1:]] != cpu[order[:-1]]) | (start[order[1:]] != end[order[:-1]])
    return is_last


def _frequency_events(
    known: CoreStates, clusters: np.ndarray, begin_ns: int
) -> tuple[States, list[tuple[np.ndarray, np.ndarray, int, np.ndarray]]]:
    """All states, and when each core came into which; what holds first holds from the beginning."""
    keys = np.concatenate([number << _KHZ_BITS | np.unique(clock.khz) for clock, number in _with(known, clusters)])
    keys = np.unique(keys)
    parts = []
    for core, (clock, number) in enumerate(_with(known, clusters)):
        ts = clock.ts.copy()
        ts[0] = min(ts[0], begin_ns)
        parts.append(
            (ts, np.full(len(ts), core, np.int64), STATE, np.searchsorted(keys, number << _KHZ_BITS | clock.khz))
        )
    return States(keys >> _KHZ_BITS, (keys & ((1 << _KHZ_BITS) - 1)).astype(np.float64)), parts


def _with(known: CoreStates, clusters: np.ndarray) -> Iterator[tuple[Clock, np.int64]]:
    """Clock and number of the cluster of each core, in order."""
    return zip(known.clocks.values(), clusters, strict=True)
