"""Causes of a suspicious window: which threads ran longer, waited longer, and which kind of memory grew.

Everything is compared with what earlier runs did on the same screens, by the robust z of `methods.causes`. Causes of
the app's own series are threads of its processes. What other processes did stands apart: it explains the load of the
whole device, and a run in which one of them really grew is disturbed.

Waits come in bursts, so that the mean of a few seconds says little: one is listed only when it is above the mean of any
stretch as long in any run of the history. It explains what takes long, never what a core was busy with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.causes import GROWTH_SHARE_MINIMUM, Z_MINIMUM, growth
from perfreg_assets.methods.screens import Screens, matching_weights, window_weights
from perfreg_assets.methods.thread_times import RUNNING, SECOND_NS, SLEEPING, ThreadTimes

Kind = Literal["thread", "wait", "memory", "heap", "slice", "lock", "frame", "stack", "method"]
Scope = Literal["app", "other"]

THREAD_FLOOR_CORES = 0.01
"""s₀ of threads and waits: less than that is no difference whatever the history says."""
MEMORY_FLOOR_BYTES = 1e6
"""s₀ of memory."""
DISTURBANCE_CORES = 0.25
"""So much more CPU time of another process than usual makes a run a disturbed one."""
ONSET_S = 3
"""Seconds before a window of memory whose mean is the level that it grew from."""
# Asleep in these a thread waits for something to do, not for something to be done.
_IDLE_FUNCTIONS = ("epoll", "poll", "select", "nanosleep", "sigtimedwait", "binder", "futex", "pipe", "wait_woken")


@dataclass(frozen=True)
class Recorded:
    """What is known of a run when its windows, or those of a later run, are explained.

    Attributes:
        times: of its threads; None where there are none.
        screens: (seconds of `times`,).
        memory: kind of the app's memory → bytes by interval.
        memory_interval_s: of those.
    """

    times: ThreadTimes | None
    screens: Screens
    memory: Mapping[str, NDArray[np.float64]]
    memory_start_ns: int = 0
    memory_interval_s: float = 1.0


@dataclass(frozen=True)
class Cause:
    """Something that took more in a window than usual.

    Attributes:
        rank: from 1, of what is listed; None of the rest.
        name: of waits the state, with the kernel's function where recorded; of memory the kind; else the thread.
        value: core seconds per second over the window; of memory the bytes that it grew.
        history_median, history_mad, growth, growth_share, z: see `methods.causes.Growth`; None where the history is too
            small to say, but the median of what there is.
        is_new: no run of the history kept its time by this name.
        matched_count: runs of the history that show a screen of the window.
        path: names from the outermost to this one, where it stands in a stack.
    """

    rank: int | None
    kind: Kind
    scope: Scope
    process: str
    thread: str | None
    name: str
    value: float
    history_median: float | None
    history_mad: float | None
    growth: float | None
    growth_share: float | None
    z: float | None
    is_new: bool
    matched_count: int
    history_count: int
    path: tuple[str, ...] = ()

    @property
    def is_matched(self) -> bool:
        """Whether every run of the history was compared on the screens of the window."""
        return self.matched_count == self.history_count


@dataclass(frozen=True)
class Ranking:
    """Attributes:
    causes: what explains the series, listed ones first, all by z and then by growth.
    also_grew: what does not explain it, in the same order: threads of other processes, and the app's waits beside what
        cores were busy with.
    has_history: whether there were enough runs to say what is usual; else values stand without z.
    """

    causes: tuple[Cause, ...]
    also_grew: tuple[Cause, ...]
    has_history: bool

    @property
    def listed(self) -> list[Cause]:
        """What is worth a look, by rank."""
        return [one for one in self.causes if one.rank is not None]

    @property
    def disturbances(self) -> list[tuple[str, float]]:
        """(process, cores) of other processes that grew so much that the run is disturbed, the largest first."""
        grown: dict[str, float] = {}
        for one in (*self.causes, *self.also_grew):
            if one.scope == "other" and one.rank is not None and one.z is not None and one.growth is not None:
                grown[one.process] = grown.get(one.process, 0.0) + one.growth
        return sorted(
            ((name, cores) for name, cores in grown.items() if cores >= DISTURBANCE_CORES),
            key=lambda pair: (-pair[1], pair[0]),
        )


def rank_load(
    start_ns: int,
    end_ns: int,
    run: Recorded,
    history: Sequence[Recorded],
    *,
    is_of_app: bool,
    is_busy_time: bool,
    minimum: int,
) -> Ranking:
    """Threads by how much longer they ran or waited in a window [start_ns, end_ns) of the trace clock.

    Args:
        run: with thread times.
        history: those without thread times count for nothing.
        is_of_app: the series is the app's, so that only its own threads explain it.
        is_busy_time: the series is time of cores, which no wait explains.
        minimum: fewer runs of the history say nothing of what is usual.
    """
    times = run.times
    if times is None:
        return Ranking((), (), False)
    weights = window_weights(start_ns, end_ns, times.start_ns, times.seconds.shape[1])
    earlier = [one for one in history if one.times is not None and one.times.seconds.shape[1]]
    stretch = max(round((end_ns - start_ns) / SECOND_NS), 1)
    entities = _entities(times, run.screens, weights, earlier, stretch, minimum)
    is_running = times.of_state(RUNNING)
    is_wait = ~is_running & np.array([not is_idle(state) for state in times.state], dtype=bool)
    # A run whose trace does not tell of waits says nothing about them: it did not wait 0.
    telling = [one for one in earlier if one.times is not None and set(times.recorded) <= set(one.times.recorded)]
    waits: list[Cause] = []
    if len(telling) == len(earlier):
        waits = entities.causes(is_wait, "wait")
    elif len(telling) >= minimum:
        waits = _entities(times, run.screens, weights, telling, stretch, minimum).causes(is_wait, "wait")
    everything = entities.causes(is_running)
    own = entities.causes(is_running & times.is_app) if is_of_app else everything
    others = [one for one in everything if one.scope == "other"] if is_of_app else []
    causes, apart = (own, [*others, *waits]) if is_busy_time else ([*own, *waits], others)
    return Ranking(_ranked(causes), _ranked(apart), len(earlier) >= minimum)


def is_idle(state: str) -> bool:
    """Whether a thread in that state waits for nothing but work."""
    state, _, function = state.partition(":")
    return state == SLEEPING and (not function or any(part in function for part in _IDLE_FUNCTIONS))


def _entities(
    times: ThreadTimes,
    screens: Screens,
    weights: NDArray[np.float64],
    history: Sequence[Recorded],
    stretch: int,
    minimum: int,
) -> _Entities:
    place = {key: row for row, key in enumerate(zip(times.process, times.thread, times.state, strict=True))}
    before, peaks = np.zeros((len(history), len(place))), np.zeros(len(place))
    is_known = np.zeros(len(place), dtype=bool)
    matched_count = 0
    for number, one in enumerate(history):
        assert one.times is not None
        like, is_matched = matching_weights(weights, screens, one.screens)
        matched_count += is_matched
        rows = [place.get(key, -1) for key in zip(one.times.process, one.times.thread, one.times.state, strict=True)]
        at = np.array(rows, dtype=np.int64)
        shared = at >= 0
        seconds, at = one.times.seconds[shared], at[shared]
        before[number, at] = seconds @ like
        peaks[at] = np.maximum(peaks[at], _longest_mean(seconds, stretch))
        is_known[at] = True
    return _Entities(times, times.seconds @ weights, before, peaks, is_known, matched_count, minimum)


def _longest_mean(seconds: NDArray[np.float64], stretch: int) -> NDArray[np.float64]:
    """Largest mean of as many seconds in a row, of each row (n, seconds)."""
    stretch = min(stretch, seconds.shape[1])
    upto = np.cumsum(np.pad(seconds, ((0, 0), (1, 0))), axis=1)
    means: NDArray[np.float64] = ((upto[:, stretch:] - upto[:, :-stretch]) / stretch).max(axis=1, initial=0.0)
    return means


@dataclass(frozen=True)
class _Entities:
    """Of one run: what its threads did in a window (entities,), and its history (k, entities).

    `peaks`: (entities,) the largest mean of a stretch as long as the window in any run of the history.
    """

    times: ThreadTimes
    values: NDArray[np.float64]
    before: NDArray[np.float64]
    peaks: NDArray[np.float64]
    is_known: NDArray[np.bool_]
    matched_count: int
    minimum: int

    def causes(self, chosen: NDArray[np.bool_], kind: Kind = "thread") -> list[Cause]:
        """Of some entities, whose growth together is what each one's share is of."""
        at = np.flatnonzero(chosen)
        before = self.before[:, at]
        floor = np.full(len(at), THREAD_FLOOR_CORES)
        if kind == "wait" and len(before):
            floor = np.hypot(floor, np.maximum(self.peaks[at] - np.median(before, axis=0), 0.0) / Z_MINIMUM)
        compared = _compare(self.values[at], before, floor, self.minimum)
        return [
            one.cause(
                kind=kind,
                scope="app" if self.times.is_app[row] else "other",
                process=self.times.process[row],
                thread=self.times.thread[row],
                name=self.times.thread[row] if kind == "thread" else self.times.state[row],
                is_new=len(self.before) > 0 and not bool(self.is_known[row]),
                matched_count=self.matched_count,
                history_count=len(self.before),
            )
            for row, one in zip(at.tolist(), compared, strict=True)
        ]


@dataclass(frozen=True)
class _Compared:
    """The numbers of a cause, see there; `is_listed`: it is worth a look."""

    is_listed: bool
    value: float
    history_median: float | None
    history_mad: float | None = None
    growth: float | None = None
    growth_share: float | None = None
    z: float | None = None

    def cause(
        self,
        *,
        kind: Kind,
        scope: Scope,
        process: str,
        thread: str | None,
        name: str,
        is_new: bool,
        matched_count: int,
        history_count: int,
    ) -> Cause:
        """Without its place among the others; the first number is whether it has one."""
        return Cause(
            0 if self.is_listed else None, kind, scope, process, thread, name,
            self.value, self.history_median, self.history_mad, self.growth, self.growth_share, self.z,
            is_new, matched_count, history_count,
        )  # fmt: skip


def _compare(
    values: NDArray[np.float64], before: NDArray[np.float64], floor: float | NDArray[np.float64], minimum: int
) -> list[_Compared]:
    """Each value (n,) beside the history's (k, n). Of a history that is too small the median alone is told, and listed
    is what makes up a share of all values."""
    if len(before) >= minimum:
        found = growth(values, before, floor)
        columns = (found.is_listed, values, found.median, found.mad, found.growth, found.growth_share, found.z)
        return [_Compared(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    middle: list[float | None] = np.median(before, axis=0).tolist() if len(before) else [None] * len(values)
    least = GROWTH_SHARE_MINIMUM * float(np.maximum(values, 0).sum())
    return [
        _Compared(value > 0 and value >= least, value, known)
        for value, known in zip(values.tolist(), middle, strict=True)
    ]


def _ranked(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """What is listed first and numbered, all by z and then by growth."""

    def order(one: Cause) -> tuple[bool, float, float, str, str, str]:
        z = one.z if one.z is not None else 0.0
        grown = one.growth if one.growth is not None else one.value
        return one.rank is None, -z, -grown, one.process, one.thread or "", one.name

    ordered = sorted(causes, key=order)
    return tuple(one if one.rank is None else replace(one, rank=place) for place, one in enumerate(ordered, 1))


def rank_memory(
    start_ns: int, end_ns: int, app: str, run: Recorded, history: Sequence[Recorded], *, minimum: int
) -> Ranking:
    """Kinds of the app's memory by how much more they grew since the begin of a window, in its last quarter.

    Memory grows with the session, so the history is looked at in the same seconds of the session, not on the screens.

    Args:
        app: whose memory it is, all its processes together.
        run, history: a run counts where it has all kinds of memory that `run` has, by the same interval.
    """
    kinds = sorted(run.memory)
    interval_ns = run.memory_interval_s * 1e9
    first = max(int((start_ns - run.memory_start_ns) // interval_ns), 0)
    last = max(int(-((run.memory_start_ns - end_ns) // interval_ns)), first + 1)
    onset = max(round(ONSET_S / run.memory_interval_s), 1)
    earlier = [
        one
        for one in history
        if one.memory_interval_s == run.memory_interval_s and all(len(one.memory.get(kind, ())) for kind in kinds)
    ]
    if not kinds:
        return Ranking((), (), False)
    matched_count = sum(len(one.memory[kinds[0]]) > first for one in earlier)
    values, *before = [
        np.array([_growth_since(one.memory[kind], first, last, onset) for kind in kinds]) for one in (run, *earlier)
    ]
    causes = [
        one.cause(
            kind="memory",
            scope="app",
            process=app,
            thread=None,
            name=kind,
            is_new=False,
            matched_count=matched_count,
            history_count=len(earlier),
        )
        for kind, one in zip(kinds, _compare(values, np.array(before), MEMORY_FLOOR_BYTES, minimum), strict=True)
    ]
    return Ranking(_ranked(causes), (), len(earlier) >= minimum)


@dataclass(frozen=True)
class Entity:
    """What is told apart in the details of a trace, see the fields of `Cause`."""

    kind: Kind
    process: str
    thread: str | None
    name: str
    path: tuple[str, ...] = ()


def rank_named(
    values: Mapping[Entity, float],
    history: Sequence[Mapping[Entity, float]],
    *,
    floor: float,
    matched_count: int,
    minimum: int,
) -> Ranking:
    """Entities of the app, all of one unit, by how far their values are above those of the history.

    Args:
        values, history: what is not named took 0.
        floor: s₀, in the unit of the values.
        matched_count: runs of the history that show a screen of the window.
    """
    named = sorted(values, key=lambda one: (one.kind, one.process, one.thread or "", one.path, one.name))
    before = np.array([[one.get(entity, 0.0) for entity in named] for one in history]).reshape(len(history), len(named))
    compared = _compare(np.array([values[entity] for entity in named]), before, floor, minimum)
    causes = [
        replace(
            one.cause(
                kind=entity.kind,
                scope="app",
                process=entity.process,
                thread=entity.thread,
                name=entity.name,
                is_new=bool(history) and all(entity not in earlier for earlier in history),
                matched_count=matched_count,
                history_count=len(history),
            ),
            path=entity.path,
        )
        for entity, one in zip(named, compared, strict=True)
    ]
    return Ranking(_ranked(causes), (), len(history) >= minimum)


def _growth_since(values: NDArray[np.float64], first: int, last: int, onset: int) -> float:
    """Mean of the last quarter of values[first:last] less the level just before; a run that is over by then as a
    whole."""
    if first >= len(values):
        first, last = 0, len(values)
    inside = values[first:last]
    level = values[max(first - onset, 0) : first] if first else inside[:1]
    return float(inside[-max(len(inside) // 4, 1) :].mean() - level.mean())
