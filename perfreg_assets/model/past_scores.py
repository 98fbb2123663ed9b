"""An app's own earlier scores, gathered for the runs that are judged: their empirical nulls, and hashes of these.

A null rests on scores by theory, which rest on no null: so a run is measured by theory first, whatever the order, and
judged beside those that lie before it afterwards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.detection import detectors
from perfreg_assets.methods.empirical_null import (
    EmpiricalNull,
    TheoreticalScore,
    had_transient,
    is_usual,
    steady,
    without_shared,
)
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.unit_offset import UnitOffset
from perfreg_assets.model.past_columns import NO_UNIT, Before, PastColumns
from perfreg_assets.warehouse import past_scores as table
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.past_scores import JudgedRun, PastRun


class PastScores:
    """What runs scored before others, by one detector.

    Args:
        judged, past: as `warehouse.past_scores.find` has them, of this detector.
    """

    def __init__(self, judged: Mapping[str, JudgedRun], past: Mapping[str, list[PastRun]]) -> None:
        self._judged, self._past = judged, dict(past)
        self._columns: dict[str, PastColumns] = {}
        self._last: tuple[str, PastColumns, Before] | None = None

    @classmethod
    def of(
        cls, reader: Reader, run_ids: Iterable[str], detector: str, assumed: tuple[str, str | None] | None = None
    ) -> Self:
        """
        Args:
            run_ids: the runs that are judged.
            assumed: a run and its review, None for none, instead of what the warehouse says of it.
        """
        judged, past = table.find(reader, run_ids, [detector], assumed)
        return cls(judged, past[detector])

    @classmethod
    def of_detectors(cls, reader: Reader, run_ids: Collection[str]) -> dict[str, Self]:
        """Detector → what it scored before these runs, of those registered that ask for it."""
        names = [one.name for one in detectors().values() if one.has_empirical_null]
        if not run_ids or not names:
            return {}
        judged, past = table.find(reader, run_ids, names)
        return {name: cls(judged, past[name]) for name in names}

    def learn(self, scores: Mapping[str, Mapping[str, TheoreticalScore]]) -> None:
        """Takes run_id → series → score by theory for what the warehouse does not say yet, or said before."""
        self._columns, self._last = {}, None
        for like, runs in self._past.items():
            self._past[like] = [
                run._replace(scores=dict(scores[run.place[1]])) if run.place[1] in scores else run for run in runs
            ]

    def known(self, run_ids: Collection[str]) -> dict[str, dict[str, TheoreticalScore]]:
        """run_id → series → score by theory, of those of some runs that are earlier runs here."""
        return {
            run.place[1]: dict(run.scores) for runs in self._past.values() for run in runs if run.place[1] in run_ids
        }

    def counts_for(self, run_id: str, other: str) -> bool:
        """Whether some score of an earlier run tells what is normal for a judged one."""
        if run_id not in self._judged:
            return False
        columns, _ = self._before(run_id)
        place = columns.place_of(other)
        return place is not None and any(
            place in places for places, _, _ in self._usual(run_id, list(columns.runs[place].scores))
        )

    def null(self, run_id: str, series: str) -> EmpiricalNull:
        """Of one series of a judged run: scores of comparable earlier runs of other versions."""
        return self._nulls(run_id, [series])[0]

    def hash_of(self, run_id: str, series: Iterable[str]) -> str:
        """Of the nulls of some series of a judged run; empty as long as none of them counts."""
        parts = []
        names = sorted(series)
        for name, null in zip(names, self._nulls(run_id, names), strict=True):
            if null.counts:
                numbers = np.asarray(null.past).tobytes() + null.versions_ago.tobytes()  # in the order of the runs
                of_unit = f":{null.unit}:{null.foreign_ratio!r}" if null.foreign_ratio else ""
                parts.append(f"{name}:{hashlib.sha256(numbers).hexdigest()}{of_unit}")
        return "|".join(parts)

    def _nulls(self, run_id: str, series: Sequence[str]) -> list[EmpiricalNull]:
        judged = self._judged.get(run_id)
        if judged is None:
            return [EmpiricalNull([], np.empty(0)) for _ in series]
        columns, _ = self._before(run_id)
        found = []
        for places, theories, ages in self._usual(run_id, series):
            offsets = _without_offsets(columns, places, theories)
            if judged.device_unit is None:
                found.append(EmpiricalNull(theories, ages))
            else:
                own = offsets.get(judged.device_unit, UnitOffset())
                found.append(EmpiricalNull(theories, ages, own, judged.foreign_ratio))
        return found

    def _usual(self, run_id: str, series: Sequence[str]) -> list[tuple[NDArray[np.intp], Floats, Floats]]:
        """(places in the columns, (k, 2) scores by theory, how many versions ago) of the k runs before a judged one
        that tell what is normal of each series; of all series at once, as there are many runs and few of these."""
        columns, (places, ages) = self._before(run_id)
        if not series:
            return []
        theories = columns.theories(series)[:, places]
        is_known = ~np.isnan(theories[..., 0])
        for number in np.flatnonzero(had_transient(theories).any(axis=1)):
            known = is_known[number]
            theories[number, known] = without_shared(theories[number, known], ages[known])
        chosen = is_known & is_usual(theories, columns.is_rejected[places])
        return [
            (places[those], of_series[those], ages[those]) for of_series, those in zip(theories, chosen, strict=True)
        ]

    def _before(self, run_id: str) -> tuple[PastColumns, Before]:
        """The runs recorded like a judged one, and which of them lie before it."""
        if self._last is None or self._last[0] != run_id:  # asked for again by what follows
            judged = self._judged[run_id]
            like = judged.recorded_like
            if like not in self._columns:
                self._columns[like] = PastColumns(self._past.get(like, []))
            self._last = run_id, self._columns[like], self._columns[like].before(judged)
        return self._last[1:]


def _without_offsets(columns: PastColumns, places: NDArray[np.intp], theories: Floats) -> dict[str, UnitOffset]:
    """Takes the offsets of the device units off scores by theory (k, 2) of runs at some places; the offsets."""
    offsets: dict[str, UnitOffset] = {}
    if not columns.units:
        return offsets
    units, foreign = columns.unit[places], columns.foreign_ratio[places]
    for unit in set(units.tolist()) - {NO_UNIT}:
        own = units == unit
        offset = UnitOffset.of(steady(theories[own]), foreign[own])
        theories[own] = offset.without(theories[own], foreign[own, np.newaxis])
        offsets[columns.units[unit]] = offset
    return offsets
