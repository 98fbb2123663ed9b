"""Time of threads by second, from the scheduling slices that the series are made of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from perfreg_assets.methods.thread_times import (
    REST,
    RUNNABLE,
    RUNNING,
    SECOND_NS,
    SLEEPING,
    UNINTERRUPTIBLE,
    ThreadTimes,
)
from perfreg_assets.traces.grid import Grid, add_up, split
from perfreg_assets.traces.names import Names
from perfreg_assets.traces.scope import Scope
from perfreg_assets.traces.suspends import awake_parts

_LEAST_NS = 10_000_000  # of a run: less than this is no cause in any window, and not told apart
_MOST_RUNNING = 60  # of all processes, and as many of the app alone
_MOST_APP = 200
_MOST_WAITS = 120
_TIMES = {"ts": "Int64", "dur": "Int64", "track": "Int64"}
_BLOCKED = {"ts": "int64", "dur": "int64", "utid": "int64", "state": "string", "blocked_function": "string"}


class _Entity(NamedTuple):
    state: str
    is_app: bool
    process: str
    thread: str


@dataclass(frozen=True)
class NoThreadTimes:
    """Why a whole trace tells no thread times."""

    reason_code: str
    reason: str


_Key = TypeVar("_Key", bound=Hashable)


def thread_times(scope: Scope) -> ThreadTimes:
    """What the threads did by second, over the time of the scope's grid; the trace must have scheduling events.

    The 60 entities that ran most are told apart, and up to 200 of the app, unless they ran less than 10 ms in the whole
    run; what else ran is one rest per process of the app and one of all others. Waits are told of threads of the app,
    where the trace has them.

    Raises:
        Rejected: ENGINE_…
    """
    grid = scope.grid
    if grid.interval_ns != SECOND_NS:
        grid = Grid.covering(grid.start_ns, grid.end_ns, SECOND_NS / 1e9)
    cores = scope.cores if grid == scope.grid else scope.cut(grid)
    who = Names(scope.contents, scope.app).thread
    running, totals = _summed(
        cores.utid, cores.pieces.bin, cores.pieces.duration_ns, grid.count, lambda utid: _Entity(RUNNING, *who(utid))
    )
    running, totals = _folded(running, totals, _kept_running(running, totals.sum(axis=1)))
    waiting, waits, recorded = _waits(scope, grid, who)
    entities, sums = [*running, *waiting], np.concatenate([totals, waits])
    return ThreadTimes(
        start_ns=grid.start_ns,
        process=tuple(one.process for one in entities),
        thread=tuple(one.thread for one in entities),
        state=tuple(one.state for one in entities),
        is_app=np.array([one.is_app for one in entities], dtype=bool),
        seconds=sums / SECOND_NS,
        recorded=recorded,
    )


def _summed(
    keys: np.ndarray, bins: np.ndarray, duration_ns: np.ndarray, count: int, entity_of: Callable[[int], _Entity]
) -> tuple[list[_Entity], np.ndarray]:
    """Entities, and the ns of each by second, (entities, count) int64; `entity_of` is asked once per key."""
    present = np.flatnonzero(np.bincount(keys)) if keys.size else np.empty(0, dtype=np.int64)
    numbers, entities = _numbered([entity_of(key) for key in present.tolist()])
    table = np.zeros(int(present.max(initial=-1)) + 1, dtype=np.int64)
    table[present] = numbers
    return entities, add_up(duration_ns, table[keys], bins, (len(entities), count))


def _numbered(keys: Sequence[_Key]) -> tuple[np.ndarray, list[_Key]]:
    """For each key its number, and the different ones in the order of their numbers."""
    found: dict[_Key, int] = {}
    numbers = np.array([found.setdefault(key, len(found)) for key in keys], dtype=np.int64)
    return numbers, list(found)


def _kept_running(entities: Sequence[_Entity], total_ns: np.ndarray) -> np.ndarray:
    is_app = np.array([one.is_app for one in entities], dtype=bool)
    kept: np.ndarray = _largest(total_ns, _MOST_RUNNING) | _largest(np.where(is_app, total_ns, 0), _MOST_APP)
    return kept


def _largest(total_ns: np.ndarray, most: int) -> np.ndarray:
    """The mask of the largest ones, as many as may be; those too small for a cause are none."""
    kept = np.zeros(total_ns.size, dtype=bool)
    kept[np.argsort(-total_ns, kind="stable")[:most]] = True
    kept[total_ns < _LEAST_NS] = False
    return kept


def _folded(entities: list[_Entity], sums: np.ndarray, is_kept: np.ndarray) -> tuple[list[_Entity], np.ndarray]:
    """The kept ones, and the others added up to their rests; in order of state, largest first, so that equal runs have
    equal rows."""
    numbers, merged = _numbered([one if kept else _rest(one) for one, kept in zip(entities, is_kept, strict=True)])
    out = np.zeros((len(merged), sums.shape[1]), dtype=np.int64)
    np.add.at(out, numbers, sums)
    total_ns = out.sum(axis=1).tolist()
    order = sorted(range(len(merged)), key=lambda k: (merged[k].state, -total_ns[k], merged[k]))
    return [merged[k] for k in order], out[order]


def _rest(one: _Entity) -> _Entity:
    return _Entity(one.state.partition(":")[0], one.is_app, one.process if one.is_app else REST, REST)


def _waits(
    scope: Scope, grid: Grid, who: Callable[[int], tuple[bool, str, str]]
) -> tuple[list[_Entity], np.ndarray, tuple[str, ...]]:
    """What the app's threads waited for: entities, the ns of each by second, and which states the trace tells."""
    states: list[str] = []
    parts: list[tuple[np.ndarray, ...]] = []  # ts, dur, utid, number of the state
    recorded = [RUNNING]
    runnable = scope.rows("runnable", _TIMES)
    if not isinstance(runnable, str) and len(runnable):
        recorded.append(RUNNABLE)
        states.append(RUNNABLE)
        rows = runnable.take(~runnable["ts"].is_null)
        parts.append((*(rows[name].values for name in _TIMES), np.zeros(len(rows), dtype=np.int64)))
    blocked = scope.rows("blocked", _BLOCKED)
    if not isinstance(blocked, str):
        told = [_state(*row) for row in zip(blocked["state"], blocked["blocked_function"], strict=True)]
        numbers, different = _numbered(told)
        recorded.append(UNINTERRUPTIBLE)
        if any(state.startswith(SLEEPING) for state in different):
            recorded.append(SLEEPING)
        parts.append((blocked["ts"], blocked["dur"], blocked["utid"], numbers + len(states)))
        states += different
    if not states:
        return [], np.zeros((0, grid.count), dtype=np.int64), tuple(recorded)
    ts, dur, utid, state = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    end = np.where(dur < 0, scope.contents.end_ns, ts + dur)
    row, ts, end = awake_parts(ts, end, scope.contents.asleep)  # nobody waits for anything while the device sleeps
    utid, state = utid[row], state[row]
    # Rows of one thread do not overlap, so every border cuts one per thread at most.
    limit = ts.size + (grid.count + 1) * np.unique(utid).size
    pieces = split(ts, end, grid, pieces_max=limit)
    entities, sums = _summed(
        (utid * len(states) + state)[pieces.row],
        pieces.bin,
        pieces.duration_ns,
        grid.count,
        lambda key: _Entity(states[key % len(states)], *who(key // len(states))),
    )
    entities, sums = _folded(entities, sums, _largest(sums.sum(axis=1), _MOST_WAITS))
    return entities, sums, tuple(recorded)


def _state(state: str, function: str | None) -> str:
    kind = UNINTERRUPTIBLE if state.startswith("D") else SLEEPING
    return f"{kind}:{function}" if function else kind
