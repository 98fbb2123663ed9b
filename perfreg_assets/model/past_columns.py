"""Earlier runs that were recorded alike, as columns: made once, of which each judged run looks at those before it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.inputs import Floats
from perfreg_assets.warehouse.past_scores import WINDOW_RUNS, JudgedRun, PastRun

NO_UNIT = -1
"""In place of a unit's number, of runs that do not state theirs."""


class Before(NamedTuple):
    """Which of the columns' runs lie before a judged one.

    Attributes:
        places: (m,) where they stand in the columns, oldest first.
        versions_ago: (m,) how many versions before; the version that was run last is one ago.
    """

    places: NDArray[np.intp]
    versions_ago: Floats


class PastColumns:
    """
    Args:
        runs: n, oldest first.

    Attributes:
        runs: as given.
        units: the device units' names.
        is_rejected: (n,) the run's alarm was called a false one.
        unit: (n,) the number of its device unit in `units`, or `NO_UNIT`.
        foreign_ratio: (n,) share of its history that is of other units.
    """

    def __init__(self, runs: Sequence[PastRun]) -> None:
        self.runs = runs
        self.is_rejected = np.array([run.review == "rejected" for run in runs], dtype=bool)
        self.foreign_ratio = np.array([run.foreign_ratio for run in runs], dtype=np.float64)
        self.units = list(dict.fromkeys(run.device_unit for run in runs if run.device_unit is not None))
        number_of: dict[str | None, int] = {unit: number for number, unit in enumerate(self.units)}
        self.unit = np.array([number_of.get(run.device_unit, NO_UNIT) for run in runs], dtype=np.intp)
        self._version_of = {name: number for number, name in enumerate(dict.fromkeys(run.version_name for run in runs))}
        self._version = np.array([self._version_of[run.version_name] for run in runs], dtype=np.intp)
        self._places = [run.place for run in runs]
        self._theories: dict[str, Floats] = {}
        self._stacked: tuple[tuple[str, ...], Floats] | None = None

    def before(self, judged: JudgedRun) -> Before:
        """The last `WINDOW_RUNS` before a judged run, those of its own version left out."""
        end = bisect_left(self._places, judged.place)
        window = np.arange(max(0, end - WINDOW_RUNS), end)
        places = window[self._version[window] != self._version_of.get(judged.version_name)]
        newest_first = self._version[places][::-1]
        _, first, which = np.unique(newest_first, return_index=True, return_inverse=True)
        age = np.empty(len(first))
        age[np.argsort(first)] = np.arange(1, len(first) + 1)
        return Before(places, age[which][::-1])

    def place_of(self, run_id: str) -> int | None:
        """Where a run stands in the columns; None for one that is not there."""
        return next((place for place, run in enumerate(self.runs) if run.place[1] == run_id), None)

    def theories(self, series: Sequence[str]) -> Floats:
        """(s, n, 2) what each run scored on each of s series by theory, in the order of `TheoreticalScore`; NaN where
        it has no score."""
        names = tuple(series)
        if self._stacked is None or self._stacked[0] != names:  # the same for most runs
            self._stacked = names, np.stack([self._of_series(name) for name in names])
        return self._stacked[1]

    def _of_series(self, name: str) -> Floats:
        if name not in self._theories:
            nothing = (np.nan, np.nan)
            pairs = [run.scores.get(name, nothing) for run in self.runs]
            self._theories[name] = np.array(pairs, dtype=np.float64).reshape(-1, 2)
        return self._theories[name]
