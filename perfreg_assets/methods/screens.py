"""What the app showed in each second, and which seconds of another run are to be compared with those of a window."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

UNKNOWN = ""

Screens = NDArray[np.str_]
"""(seconds,) name of the screen at the middle of each; `UNKNOWN` where the path does not tell."""


def screens_by_second(
    steps: Sequence[tuple[int, str]], after: str | None, start_ns: int, count: int, *, second_ns: int = 1_000_000_000
) -> Screens:
    """The screen in each second of a run.

    Args:
        steps: (until when, screen) in order of time: the screen held until its action was sent, and the first one from
            the start on.
        after: what the last action led to; None where it is not known.
        start_ns: begin of the first second, on the clock of the steps.
    """
    names = np.array([*(name for _, name in steps), after or UNKNOWN], dtype=np.str_)
    middles = start_ns + (2 * np.arange(count, dtype=np.int64) + 1) * second_ns // 2
    return names[np.searchsorted(np.array([until for until, _ in steps], dtype=np.int64), middles)]


def window_weights(
    start_ns: int, end_ns: int, first_ns: int, count: int, *, second_ns: int = 1_000_000_000
) -> NDArray[np.float64]:
    """(count,) Share of each second in a window [start_ns, end_ns); sums to 1, or all 0 where none of it is recorded.

    Args:
        first_ns: begin of the first second.
    """
    begins = first_ns + np.arange(count, dtype=np.int64) * second_ns
    overlap = np.minimum(end_ns, begins + second_ns) - np.maximum(start_ns, begins)
    inside = np.maximum(overlap, 0).astype(np.float64)
    total = float(inside.sum()) or 1.0
    share: NDArray[np.float64] = inside / total
    return share


def matching_weights(
    weights: NDArray[np.float64], screens: Screens, others: Screens
) -> tuple[NDArray[np.float64], bool]:
    """Weights of another run's seconds, so that its screens count as they do in a window, and whether it shows any.

    A screen of the window that the other run never shows counts for nothing, the rest for more; if it shows none of
    them all of its seconds count alike.

    Args:
        weights: (n,) of the run's own seconds, see `window_weights`.
        screens: (n,) of the run. others: (m,) of the other one, m ≥ 1.

    Returns:
        (m,) summing to 1.
    """
    names, place = np.unique(screens, return_inverse=True)
    wanted = np.bincount(place, weights, len(names))
    wanted[names == UNKNOWN] = 0.0
    at = np.minimum(np.searchsorted(names, others), len(names) - 1)
    is_wanted = (names[at] == others) & (wanted[at] > 0)
    if not is_wanted.any():
        return np.full(len(others), 1 / len(others)), False
    seen = np.bincount(at[is_wanted], minlength=len(names))
    each = np.divide(wanted, seen, out=np.zeros(len(names)), where=seen > 0)
    found = np.where(is_wanted, each[at], 0.0)
    return found / found.sum(), True
