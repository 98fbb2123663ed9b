"""Measurements of runs: gathered from trace and run.json, and beside those of the run's history.

A metric is judged like a series whose history is the run's history set; its name stands in the column `series`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from perfreg_assets.catalogue import SeriesDefinition, Worse, metric_definition
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.model.own_metrics import own_metrics
from perfreg_assets.traces.measurement import Measurement
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.measurements import RUN, MeasurementRow, find
from perfreg_assets.warehouse.runs import RunRow

State = Literal["scored", "not_enough_history", "series_missing"]


@dataclass(frozen=True)
class MetricComparison:
    """A judged metric of one run beside its history.

    Attributes:
        value: in the definition's unit; None where the run has none.
        history: (k,) values of the history's runs that have one in that unit, latest run first.
        state: by the values alone; that the trace is whole and the history ready is the caller's to know.
        state_reason: a sentence where the state is not 'scored'.
        history_versions: (k,) versions of those runs.
    """

    run_id: str
    definition: SeriesDefinition
    value: float | None
    history: Floats
    state: State
    state_reason: str | None
    history_versions: tuple[str, ...]

    @property
    def metric(self) -> str:
        return self.definition.name


def rows_of_run(run: RunRow, measured: Iterable[Measurement], *, code_version: str) -> list[MeasurementRow]:
    """The rows of core.measurements of a run that is not quarantined.

    Args:
        measured: in its trace; none where that is not whole. What its run.json reports is added.
        code_version: of what looks at traces.
    """
    assert run.app is not None
    assert run.version_name is not None
    return [
        MeasurementRow(
            subject_kind=RUN,
            subject_id=run.run_id,
            metric=one.metric,
            app=run.app,
            version_name=run.version_name,
            unit=one.unit,
            worse=one.worse,
            value=one.value,
            reason=one.reason,
            provenance=dict(one.provenance),
            code_version=code_version,
        )
        for one in (*measured, *own_metrics(run.extra))
    ]


def definition_of_metric(row: MeasurementRow) -> SeriesDefinition:
    """What the metric of a row is; one of the app's own is judged unless its run.json says otherwise."""
    is_judged = (row.provenance or {}).get("judged") is not False
    worse = cast(Worse, row.worse)  # the table allows no other
    return metric_definition(row.metric, unit=row.unit, worse=worse, is_judged=is_judged)


def load(
    reader: Reader, run_ids: Sequence[str], members: Mapping[str, Sequence[str]], *, history_minimum: int
) -> list[MetricComparison]:
    """The judged metrics of some runs, by run and name: those that a run itself or one of its history has a value of.

    Args:
        members: run_id → ids of its history's runs, latest first (`warehouse.histories.members`).
        history_minimum: fewest values of a history that another one is judged by.
    """
    everyone = {*run_ids, *(member for run_id in run_ids for member in members.get(run_id, ()))}
    rows: dict[str, dict[str, MeasurementRow]] = {}
    for (run_id, metric), row in find(reader, RUN, everyone).items():
        rows.setdefault(run_id, {})[metric] = row
    found = []
    for run_id in run_ids:
        own = rows.get(run_id, {})
        others = [rows.get(member, {}) for member in members.get(run_id, ())]
        for name in sorted({*own, *(name for other in others for name in other)}):
            known = [other[name] for other in others if name in other and other[name].value is not None]
            one = _comparison(run_id, own.get(name), known, len(others), history_minimum)
            if one is not None:
                found.append(one)
    return found


def _comparison(
    run_id: str, own: MeasurementRow | None, known: list[MeasurementRow], member_count: int, history_minimum: int
) -> MetricComparison | None:
    """Of one metric; None where nobody has a value, or it is not to be judged.

    Args:
        known: rows with a value of the history's runs.
    """
    value = own.value if own is not None else None
    # A row without value may not even know its unit.
    row = own if own is not None and value is not None else next(iter(known), None)
    if row is None:
        return None
    definition = definition_of_metric(row)
    if not definition.is_judged:
        return None
    alike = [each for each in known if each.unit == definition.unit]
    history = np.array([each.value for each in alike], dtype=np.float64)
    versions = tuple(each.version_name for each in alike)
    have = f"{len(history)} of the {member_count} comparable runs"
    state: State = "scored"
    why = None
    if len(history) < history_minimum:
        state, why = "not_enough_history", f"Only {have} have this metric, {history_minimum} are needed."
    elif own is None or value is None:
        absent = own.reason if own is not None and own.reason else "the run does not report it"
        state, why = "series_missing", f"{have} have this metric, this run has not: {absent.rstrip('.')}."
    return MetricComparison(run_id, definition, value, history, state, why, versions)
