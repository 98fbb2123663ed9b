"""The order of an app's runs: which run's page leads to which, and whose pages a run's place touches."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.moments import epoch_us, of_epoch_us

MATRIX_SIZE = 15
"""Runs in the similarity heat map, as in the thesis' figures."""


@dataclass(slots=True)
class Neighbours:
    """What a run's page takes from the order of runs: the one before, the one after, and the recent ones of its app."""

    previous: str | None = None
    next: str | None = None
    recent: tuple[str, ...] = ()


class Placed(NamedTuple):
    """A run in the order of its app. `started_us`: µs since 1970, as an app has thousands of runs."""

    started_us: int
    run_id: str
    version_name: str

    @property
    def started_at(self) -> datetime:
        return of_epoch_us(self.started_us)


@dataclass(slots=True)
class _App:
    placed: list[Placed]
    index: dict[str, int]


class RunOrder:
    """The runs of each app, oldest first, without quarantined ones; an app is read when it is asked for."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._apps: dict[str, _App] = {}

    def runs_of(self, app: str) -> list[Placed]:
        """Oldest first."""
        return self._app(app).placed

    def beside(self, run_id: str, app: str | None) -> Neighbours:
        """Of a run that has no place (quarantined): nothing."""
        found = self._app(app) if app is not None else None
        if found is None or run_id not in found.index:
            return Neighbours()
        i, placed = found.index[run_id], found.placed
        return Neighbours(
            previous=placed[i - 1].run_id if i > 0 else None,
            next=placed[i + 1].run_id if i + 1 < len(placed) else None,
            recent=tuple(one.run_id for one in placed[max(0, i + 1 - MATRIX_SIZE) : i + 1]),
        )

    def touched(self, app: str, started_at: datetime, run_id: str) -> list[str]:
        """Runs whose page names this place, whether a run stands there now or stood there before."""
        found = self._app(app)
        at = bisect_left(found.placed, (epoch_us(started_at), run_id))
        return [one.run_id for one in found.placed[max(0, at - 1) : at + MATRIX_SIZE]]

    def _app(self, app: str) -> _App:
        if app not in self._apps:
            placed = [*map(Placed._make, run_table.in_order(self._reader, app))]
            self._apps[app] = _App(placed, {one.run_id: i for i, one in enumerate(placed)})
        return self._apps[app]
