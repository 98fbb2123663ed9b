"""What a run would be without its one passing disturbance: something else ran for some seconds, and was gone.

Of all stretches up to a length the one that rises furthest above both of its edges, added up over its samples, is taken
off down to the higher edge. A regression that stays has no second edge to fall back to, one that comes again and again
keeps all its other times: both are left as unusual as they were. What lies at the run's very beginning or end has one
edge only, and is no such stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.inputs import Floats

LENGTHS_S = (6.0, 10.0, 15.0, 20.0, 25.0)
"""In whole samples, none of them longer than the last."""
LARGEST_SHARE = 0.25  # of the run: what takes longer does not pass
EDGE_S = 10.0
SHORTEST_EDGE_S = 5.0


@dataclass(frozen=True)
class Transient:
    """Attributes:
    first, end: its samples, end exclusive.
    gain: how much lies above the higher edge, added up; unit of the series times samples.
    without: (n,) the run without it, unit of the series.
    """

    first: int
    end: int
    gain: float
    without: Floats


def find_transient(values: Floats, expected: Floats, interval_s: float, signs: Sequence[int]) -> Transient | None:
    """The largest one of a run; None where no stretch lies beyond both of its edges.

    Args:
        values: (n,) finite, unit of the series.
        expected: (n,) what is usual at the same places, same unit; a constant will do where the place says little.
        interval_s: between samples.
        signs: +1: above what is usual is looked for; -1: below.
    """
    found = [_largest(values, expected, interval_s, sign) for sign in signs]
    return max((one for one in found if one is not None), key=lambda one: one.gain, default=None)


def _largest(values: Floats, expected: Floats, interval_s: float, sign: int) -> Transient | None:
    difference = sign * (values - expected)
    count = len(difference)
    sums = np.concatenate([[0.0], np.cumsum(difference)])
    edge, shortest = (max(1, round(seconds / interval_s)) for seconds in (EDGE_S, SHORTEST_EDGE_S))
    best: tuple[float, int, int, float] | None = None
    longest = int(LENGTHS_S[-1] / interval_s)  # none where a single sample takes longer
    lengths = {min(max(1, round(seconds / interval_s)), longest) for seconds in LENGTHS_S} - {0}
    for length in sorted(lengths):
        first = np.arange(shortest, count - length - shortest + 1)
        if length > LARGEST_SHARE * count or not len(first):
            continue
        end = first + length
        before = _means(sums, np.maximum(first - edge, 0), first)
        after = _means(sums, end, np.minimum(end + edge, count))
        level = np.maximum(before, after)
        gain = sums[end] - sums[first] - length * level
        place = int(np.argmax(gain))
        if best is None or gain[place] > best[0]:
            best = float(gain[place]), int(first[place]), int(end[place]), float(level[place])
    if best is None or best[0] <= 0:
        return None
    gain_of, begin, stop, limit = best
    without = values.copy()
    without[begin:stop] -= sign * np.maximum(difference[begin:stop] - limit, 0.0)
    return Transient(begin, stop, gain_of, without)


def _means(sums: Floats, first: NDArray[np.int64], end: NDArray[np.int64]) -> Floats:
    means: Floats = (sums[end] - sums[first]) / (end - first)
    return means
