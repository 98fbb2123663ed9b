"""What an app usually does on each screen, so many seconds after an action: common to runs of different paths.

Two runs that took different ways through an app can still be compared second by second of the same state (screen,
seconds since the last action, see `states`). From some runs follows what is usual in each state; weighted by the states
of another run, it is what that run would be expected to show. States that were seldom seen lean on their screen, and
screens that were seldom seen on the whole (shrinkage with a weight of `LEANING_S`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.states import screen_of

LEANING_S = 3.0  # chosen on the developers' apps of protocol `shifts`
SEEN_S = 3.0  # a screen that earlier runs showed for less is not known


@dataclass(frozen=True)
class Expected:
    """Of one run.

    Attributes:
        mean: what its samples have on average if it behaves as the others, unit of the series.
        known_ratio: share of its samples on screens that the others showed, 0 to 1.
    """

    mean: float
    known_ratio: float


class UsualLoad:
    """Sums of some runs' samples by state, from which any of them can be left out again.

    Args:
        values: k of (n_i,), unit of the series. states: k of (n_i,), codes as `states.state_codes` gives them.
        interval_s: between samples.
    """

    def __init__(
        self, values: Sequence[Floats], states: Sequence[NDArray[np.int64]], interval_s: float, *, state_count: int
    ) -> None:
        self._leaning, self._seen = LEANING_S / interval_s, SEEN_S / interval_s
        self._own = [_Sums.of(one, codes, state_count) for one, codes in zip(values, states, strict=True)]
        self._all = _Sums(
            np.sum([one.sums for one in self._own], axis=0), np.sum([one.counts for one in self._own], axis=0)
        )
        self._screens = screen_of(np.arange(state_count))

    def expected(self, states: NDArray[np.int64], *, without: int | None = None) -> Expected:
        """Of a run with these states (n,), beside all runs or all but one of them."""
        known = self._all if without is None else self._all.less(self._own[without])
        total, count = float(known.sums.sum()), float(known.counts.sum())
        overall = total / count if count else 0.0
        of_screen, seen = np.bincount(self._screens, known.sums), np.bincount(self._screens, known.counts)
        usual_of_screen = (of_screen + self._leaning * overall) / (seen + self._leaning)
        usual = (known.sums + self._leaning * usual_of_screen[self._screens]) / (known.counts + self._leaning)
        there = states[states >= 0]
        values = np.where(states >= 0, usual[np.maximum(states, 0)], overall)
        is_known = seen[self._screens[there]] >= self._seen
        return Expected(float(values.mean()), float(is_known.sum()) / len(states))


@dataclass(frozen=True)
class _Sums:
    """Per state (m,): sum of the samples, unit of the series, and their number."""

    sums: Floats
    counts: Floats

    @classmethod
    def of(cls, values: Floats, states: NDArray[np.int64], state_count: int) -> _Sums:
        is_known = states >= 0
        codes = states[is_known]
        return cls(
            np.bincount(codes, values[is_known], state_count).astype(np.float64),
            np.bincount(codes, minlength=state_count).astype(np.float64),
        )

    def less(self, other: _Sums) -> _Sums:
        return _Sums(self.sums - other.sums, self.counts - other.counts)
