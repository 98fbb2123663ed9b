"""What the model assets compare: each judged series of a run, beside the same series of its history.

Loaded once per step; what is missing is a named state here and stays one from here on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from perfreg_assets.catalogue import SeriesDefinition, definition_of
from perfreg_assets.methods.samples import Sample
from perfreg_assets.methods.states import UNKNOWN, state_codes
from perfreg_assets.reasons import Reason
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import histories
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import series as series_table
from perfreg_assets.warehouse import traces as trace_table
from perfreg_assets.warehouse.connection import Reader

SCORED = "scored"


@dataclass(frozen=True)
class Comparison:
    """One (run, series). `state` is 'scored' when it can be judged, else why not, in `state_reason`'s words."""

    run_id: str
    series: str
    state: str
    state_reason: str | None
    target: series_table.SeriesRow | None
    history: tuple[series_table.SeriesRow, ...]
    paths: dict[str, run_table.RunRow]
    engine_version: str | None

    @property
    def interval_s(self) -> float:
        assert self.target is not None
        return self.target.interval_s

    @property
    def definition(self) -> SeriesDefinition:
        """What the series is, which decides what a detector looks at."""
        return definition_of(self.series)

    @property
    def history_values(self) -> list[np.ndarray]:
        return [row.values for row in self.history if row.values is not None]

    @cached_property
    def samples(self) -> tuple[list[Sample], Sample]:
        """(history, target) as the detectors take them, with the state of the app at each sample where it is known."""
        assert self.target is not None
        rows = [*self.history, self.target]
        codes = state_codes([self._timed_path(row) for row in rows], [_length(row) for row in rows], self.interval_s)
        samples = [
            Sample(row.values, code if (code != UNKNOWN).any() else None)
            for row, code in zip(rows, codes, strict=True)
            if row.values is not None
        ]
        return samples[:-1], samples[-1]

    def _timed_path(self, row: series_table.SeriesRow) -> list[tuple[float, str]]:
        """(seconds since the first sample, screen) of each step whose time is known, in order of time."""
        run = self.paths.get(row.run_id)
        start_ns = row.start_ns
        if run is None or not run.path or start_ns is None:
            return []
        timed = [
            ((step.ts_ns - start_ns) / 1e9, step.screen or step.state_hash)
            for step in run.path
            if step.ts_ns is not None
        ]
        return sorted(timed, key=lambda step: step[0])


def _length(row: series_table.SeriesRow) -> int:
    return 0 if row.values is None else len(row.values)


def load(reader: Reader, run_ids: Iterable[str], settings: Settings) -> list[Comparison]:
    """Comparisons of the judged series of some runs; every run and series is in the result."""
    run_ids = list(run_ids)
    traces = trace_table.find(reader, run_ids)
    selections = histories.find(reader, run_ids)
    members = histories.members(reader, run_ids)
    everyone = sorted({*run_ids, *(member for ids in members.values() for member in ids)})
    series = series_table.find(reader, everyone, settings.judged_series)
    paths = run_table.find(reader, everyone)
    comparisons = []
    for run_id in run_ids:
        trace = traces.get(run_id)
        for name in settings.judged_series:
            target = series.get((run_id, name))
            history = tuple(
                row
                for member in members.get(run_id, ())
                for row in [series.get((member, name))]
                if row is not None
                and row.values is not None
                and target is not None
                and row.interval_s == target.interval_s
            )
            state, why = _state(trace, target, selections.get(run_id), len(history), settings)
            comparisons.append(
                Comparison(run_id, name, state, why, target, history, paths, trace.engine_version if trace else None)
            )
    return comparisons


def _state(
    trace: trace_table.TraceRow | None,
    target: series_table.SeriesRow | None,
    selection: histories.HistoryRow | None,
    history_size: int,
    settings: Settings,
) -> tuple[str, str | None]:
    if trace is None or not trace.is_complete:
        return "incomplete_trace", trace.reason if trace else "The trace was not looked at yet."
    if target is None or target.values is None or len(target.values) == 0:
        return "series_missing", (target.reason if target else None) or Reason.SERIES_MISSING.sentence
    if selection is None or selection.state != "ready":
        return "not_enough_history", (
            selection.explanation if selection else None
        ) or Reason.NOT_ENOUGH_HISTORY.sentence
    if history_size < settings.history_minimum:
        return "not_enough_history", (
            f"Only {history_size} of the {selection.history_size} comparable runs have this series, "
            f"{settings.history_minimum} are needed."
        )
    return SCORED, None
