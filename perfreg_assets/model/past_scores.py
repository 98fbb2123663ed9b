"""An app's own earlier scores, gathered for the runs that are judged: their empirical nulls, and hashes of these.

A null rests on scores by theory, which rest on no null: so a run is measured by theory first, whatever the order, and
judged beside those that lie before it afterwards.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Self

import numpy as np

from perfreg_assets.detection import detectors
from perfreg_assets.methods.empirical_null import EmpiricalNull, TheoreticalScore, is_usual, without_shared
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.unit_offset import UnitOffset
from perfreg_assets.warehouse import past_scores as table
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.past_scores import WINDOW_RUNS, JudgedRun, PastRun


class PastScores:
    """What runs scored before others, by one detector.

    Args:
        judged, past: as `warehouse.past_scores.find` has them, of this detector.
    """

    def __init__(self, judged: Mapping[str, JudgedRun], past: Mapping[str, list[PastRun]]) -> None:
        self._judged, self._past = judged, dict(past)
        self._places = {like: [run.place for run in runs] for like, runs in self._past.items()}
        self._last: tuple[str, list[tuple[PastRun, int]]] | None = None

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
        self._last = None
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
        before = self._before(run_id)
        series = {name for run, _ in before if run.place[1] == other for name in run.scores}
        return any(run.place[1] == other for name in series for run, _, _ in self._usual(run_id, name))

    def null(self, run_id: str, series: str) -> EmpiricalNull:
        """Of one series of a judged run: scores of comparable earlier runs of other versions."""
        known = self._usual(run_id, series)
        of_units: dict[str, list[tuple[float, float]]] = {}
        for run, theory, _ in known:
            if run.device_unit is not None:
                of_units.setdefault(run.device_unit, []).append((theory.steady, run.foreign_ratio))
        offsets = {unit: UnitOffset.of(*_columns(pairs)) for unit, pairs in of_units.items()}
        own = [
            theory.on_unit(offsets[run.device_unit], run.foreign_ratio) if run.device_unit else theory
            for run, theory, _ in known
        ]
        ages = np.array([age for _, _, age in known], dtype=np.float64)
        judged = self._judged.get(run_id)
        if judged is None or judged.device_unit is None:
            return EmpiricalNull(own, ages)
        return EmpiricalNull(own, ages, offsets.get(judged.device_unit, UnitOffset()), judged.foreign_ratio)

    def _usual(self, run_id: str, series: str) -> list[tuple[PastRun, TheoreticalScore, int]]:
        """(run, score by theory, how many versions ago) of those before a judged one that tell what is normal."""
        known = [(run, run.scores[series], age) for run, age in self._before(run_id) if series in run.scores]
        theories = without_shared(
            [theory for _, theory, _ in known], np.array([age for _, _, age in known], dtype=np.float64)
        )
        return [
            (run, theory, age)
            for (run, _, age), theory in zip(known, theories, strict=True)
            if is_usual(theory, run.review)
        ]

    def hash_of(self, run_id: str, series: Iterable[str]) -> str:
        """Of the nulls of some series of a judged run; empty as long as none of them counts."""
        parts = []
        for name in sorted(series):
            null = self.null(run_id, name)
            if null.counts:
                numbers = np.column_stack([np.array(null.past, np.float64).reshape(-1, 2), null.versions_ago])
                numbers = numbers[np.lexsort(numbers.T)]
                of_unit = f":{null.unit}:{null.foreign_ratio!r}" if null.foreign_ratio else ""
                parts.append(f"{name}:{hashlib.sha256(numbers.tobytes()).hexdigest()}{of_unit}")
        return "|".join(parts)

    def _before(self, run_id: str) -> list[tuple[PastRun, int]]:
        """(run, how many versions ago), oldest first; the version that was run last is one ago."""
        if self._last is None or self._last[0] != run_id:  # asked for once per series
            self._last = run_id, self._found(run_id)
        return self._last[1]

    def _found(self, run_id: str) -> list[tuple[PastRun, int]]:
        judged = self._judged.get(run_id)
        if judged is None:
            return []
        end = bisect_left(self._places.get(judged.recorded_like, []), judged.place)
        runs = self._past.get(judged.recorded_like, [])[max(0, end - WINDOW_RUNS) : end]
        others = [run for run in runs if run.version_name != judged.version_name]
        names = dict.fromkeys(run.version_name for run in reversed(others))
        ages = {name: age for age, name in enumerate(names, 1)}
        return [(run, ages[run.version_name]) for run in others]


def _columns(pairs: Sequence[tuple[float, float]]) -> tuple[Floats, Floats]:
    first, second = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return first, second
