"""Slices of a whole run by screen: only of the app's own threads, and only where it told what it was doing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from perfreg_assets.methods.self_times import self_times
from perfreg_assets.methods.slice_uses import SliceUses
from perfreg_assets.methods.thread_times import REST
from perfreg_assets.traces.names import Names
from perfreg_assets.traces.scope import Scope, Screens
from perfreg_assets.traces.slices import SLICE_COLUMNS, Nested, nested
from perfreg_assets.traces.statements import statement

NO_SLICES = "the trace has no slices of the app (atrace)"
_MOST = 1000  # rows of a run; what took least is one rest per screen

_Key = tuple[str, str, str, str]
SliceSums = dict[_Key, list[int]]
"""(screen, process, thread, slice) → calls, and ns: of all of these, of the longest, by themselves, with all below."""
_CALLS, _CALLED, _LONGEST, _OWN, _TOTAL = range(5)


def slice_uses(scope: Scope, screens: Screens) -> SliceUses | str:
    """The app's slices by screen over the time of the scope's grid, or why there are none.

    Raises:
        Rejected: ENGINE_…
    """
    found = scope.once(app_slices)
    if found is None:
        return NO_SLICES
    return uses_of(slice_sums(scope, found, screens))


def slice_sums(scope: Scope, found: Nested, screens: Screens, after: str = "") -> SliceSums:
    """What the app's slices took by screen over the time of the scope's grid.

    Args:
        after: stands for the screen after the last known one.
    """
    grid = scope.grid
    keys, numbers = by_name(found, Names(scope.contents, scope.app))
    sums: SliceSums = {}
    for lo, hi, screen in _stretches(screens, grid.start_ns, grid.end_ns, after):
        _add(sums, found, keys, numbers, lo, hi, screen)
    return sums


def app_slices(scope: Scope) -> Nested | None:
    """The slices of the app's threads over the scope's grid; None where the trace has none.

    Raises:
        Rejected: ENGINE_…
    """
    grid = scope.grid
    if not scope.contents.has_slices or not scope.utids:
        return None
    table = scope.session.query(
        statement("slices_of_app", utids=list(scope.utids), start_ns=grid.start_ns, end_ns=grid.end_ns), SLICE_COLUMNS
    )
    return nested(table, scope.contents.end_ns) if len(table) else None


def _stretches(screens: Screens, start_ns: int, end_ns: int, after: str) -> list[tuple[int, int, str]]:
    """[from, to) and screen, in order; `after` where none is known."""
    borders = [start_ns, *(min(max(until, start_ns), end_ns) for until, _ in screens), end_ns]
    names = [*(name for _, name in screens), after]
    return [(lo, hi, name) for (lo, hi), name in zip(pairwise(borders), names, strict=True) if lo < hi]


def by_name(found: Nested, names: Names) -> tuple[list[tuple[str, str, str, bool]], np.ndarray]:
    """(process, thread, slice, whether no slice around it has that name), and for each path which of them it is."""
    known: dict[tuple[str, str, str, bool], int] = {}
    numbers = np.empty(len(found.paths), dtype=np.int64)
    for k, (utid, path) in enumerate(found.paths):
        _, process, thread = names.thread(utid)
        key = (process, thread, path[-1], path[-1] not in path[:-1])
        numbers[k] = known.setdefault(key, len(known))
    return list(known), numbers


def _add(
    sums: SliceSums,
    found: Nested,
    keys: Sequence[tuple[str, str, str, bool]],
    numbers: np.ndarray,
    lo: int,
    hi: int,
    screen: str,
) -> None:
    """Adds what the slices took in one stretch of time."""
    here = np.flatnonzero((found.start_ns < hi) & (found.end_ns >= lo))
    place = np.full(found.start_ns.size + 1, -1, dtype=np.int64)  # the last one is for those without a parent
    place[here] = np.arange(here.size)
    start, end, name = found.start_ns[here], found.end_ns[here], numbers[found.code[here]]
    own = np.maximum(self_times(start, end, place[found.parent[here]], lo, hi), 0)
    inside = np.maximum(np.minimum(end, hi) - np.maximum(start, lo), 0)
    begins = (start >= lo) & (start < hi)
    called = np.where(begins, end - start, 0)
    longest = np.zeros(len(keys), dtype=np.int64)
    np.maximum.at(longest, name, called)
    calls, called_ns, own_ns, total_ns = (
        np.bincount(name, weights, len(keys)).astype(np.int64) for weights in (begins, called, own, inside)
    )
    for k in np.flatnonzero((own_ns > 0) | (calls > 0) | (total_ns > 0)).tolist():
        process, thread, slice_name, is_outermost = keys[k]
        row = sums.setdefault((screen, process, thread, slice_name), [0] * 5)
        row[_CALLS] += int(calls[k])
        row[_CALLED] += int(called_ns[k])
        row[_LONGEST] = max(row[_LONGEST], int(longest[k]))
        row[_OWN] += int(own_ns[k])
        row[_TOTAL] += int(total_ns[k]) if is_outermost else 0


def add_sums(sums: SliceSums, more: SliceSums) -> None:
    """Adds those of other slices: of other names, or of another stretch of time."""
    for key, row in more.items():
        own = sums.setdefault(key, [0] * 5)
        for k, amount in enumerate(row):
            own[k] = max(own[k], amount) if k == _LONGEST else own[k] + amount


def lengthen(sums: SliceSums, key: _Key, before_ns: int, now_ns: int) -> None:
    """A call that counted as `before_ns` long turned out to be longer."""
    row = sums[key]
    row[_CALLED] += now_ns - before_ns
    row[_LONGEST] = max(row[_LONGEST], now_ns)


def uses_of(sums: SliceSums) -> SliceUses:
    """As it is stored: those that took most, and the rest of each screen."""
    of_screen: dict[str, int] = {}
    for (screen, *_), row in sums.items():
        of_screen[screen] = of_screen.get(screen, 0) + row[_OWN]
    order = sorted(sums, key=lambda key: (-sums[key][_TOTAL], -sums[key][_OWN], key))
    merged: SliceSums = {key: sums[key] for key in order[:_MOST]}
    for key in order[_MOST:]:
        add_sums(merged, {(key[0], REST, REST, REST): sums[key]})
    keys = list(merged)
    columns = [np.array([merged[key][k] for key in keys], dtype=np.int64) for k in range(5)]
    return SliceUses(
        screen=tuple(key[0] for key in keys),
        process=tuple(key[1] for key in keys),
        thread=tuple(key[2] for key in keys),
        slice=tuple(key[3] for key in keys),
        call_count=columns[_CALLS],
        called_ns=columns[_CALLED],
        max_ns=columns[_LONGEST],
        self_ns=columns[_OWN],
        total_ns=columns[_TOTAL],
        screen_ns=np.array([of_screen[key[0]] for key in keys], dtype=np.int64),
    )
