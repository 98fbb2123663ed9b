"""Measurements of runs and of their histories, from the marts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from perfreg_assets import detection
from perfreg_assets.catalogue import SeriesDefinition, Worse, metric_definition
from perfreg_assets.methods.detectors import make_detector
from perfreg_assets.reports.data import Distances, MetricView, Verdict
from perfreg_assets.reports.metric_limits import metric_limits
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.run_conditions import grouped, of


@dataclass(frozen=True, slots=True)
class Measured:
    """A row of marts.measurements of a run, with what the metric is by that row."""

    definition: SeriesDefinition
    value: float | None
    reason: str | None


_MEASUREMENTS = """
SELECT subject_id, metric, unit, worse, "value", reason FROM marts.measurements
WHERE subject_kind = 'run' AND {of} ORDER BY subject_id, metric
"""


def load_measurements(reader: Reader, run_ids: Sequence[str]) -> dict[str, dict[str, Measured]]:
    """run_id → metric → row, for the runs that have any."""
    found: dict[str, dict[str, Measured]] = defaultdict(dict)
    for ids in grouped(reader, run_ids):
        for run_id, metric, unit, worse, value, reason in reader.rows(_MEASUREMENTS.format(of=of(reader, ids))):
            definition = metric_definition(metric, unit=unit, worse=cast(Worse, worse))
            found[run_id][metric] = Measured(definition, value, reason)
    return dict(found)


def metric_views(
    run_id: str,
    members: Sequence[str],
    measurements: Mapping[str, Mapping[str, Measured]],
    verdicts: Mapping[str, Verdict],
    distances: Mapping[str, tuple[Distances, ...]],
) -> tuple[MetricView, ...]:
    """What is known of each metric that the run has a row of, or of which it has a verdict because its history has.

    Args:
        members: ids of the history's runs, latest first.
        verdicts, distances: of the run, by series.
    """
    own = measurements.get(run_id, {})
    others = [measurements.get(member, {}) for member in members]
    views = []
    for name in sorted({*own, *({name for other in others for name in other} & set(verdicts))}):
        rows = [row for row in (own.get(name), *(other.get(name) for other in others)) if row is not None]
        definition = next((row for row in rows if row.value is not None), rows[0]).definition
        history = tuple(
            row.value
            for row in (other.get(name) for other in others)
            if row is not None and row.value is not None and row.definition.unit == definition.unit
        )
        verdict, measured = verdicts.get(name), distances.get(name, ())
        views.append(
            MetricView(
                name=name,
                label=definition.label,
                unit=definition.unit,
                value=own[name].value if name in own else None,
                missing_reason=own[name].reason if name in own else "The run does not report it.",
                history=history,
                limits=_limits(verdict, measured, history, definition),
                verdict=verdict,
                distances=measured,
            )
        )
    return tuple(views)


def _limits(
    verdict: Verdict | None, measured: Sequence[Distances], history: tuple[float, ...], definition: SeriesDefinition
) -> tuple[float | None, float | None]:
    """Of a metric that was judged; without the correction that was applied they would not be the verdict's."""
    current = next((each for each in measured if verdict is not None and each.detector == verdict.detector), None)
    if verdict is None or verdict.is_anomalous is None or current is None:
        return None, None
    return metric_limits(
        make_detector(verdict.detector),
        history,
        definition,
        omega=verdict.omega,
        series_count=round(current.series_count or 1),
        run_rule=detection.definition_of(verdict.detector).run_rule,
    )
