"""Measurements on a run's page: a row each, with a dot plot of the run beside its history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from perfreg_assets.catalogue import display_unit
from perfreg_assets.how_many import how_many
from perfreg_assets.reports import wording
from perfreg_assets.reports.data import Distances, MetricView
from perfreg_assets.reports.templating import verdict_beside_limit

_MARGIN = 6.0  # percent of the plot's width left free on each side


def metric_rows(metrics: Iterable[MetricView]) -> dict[str, list[dict[str, Any]]]:
    """Rows, in the order given: `judged`, `unjudged` with a value, and `absent` with the reason."""
    rows: dict[str, list[dict[str, Any]]] = {"judged": [], "unjudged": [], "absent": []}
    for metric in metrics:
        group = "judged" if metric.verdict is not None else "unjudged" if metric.value is not None else "absent"
        rows[group].append(_row(metric))
    return rows


def _row(metric: MetricView) -> dict[str, Any]:
    unit = display_unit(metric.unit)
    verdict = metric.verdict
    low, high = (None if limit is None else limit * unit.factor for limit in metric.limits)
    history = [value * unit.factor for value in metric.history]
    value = None if metric.value is None else metric.value * unit.factor
    row = {
        "name": metric.name,
        "label": metric.label,
        "unit": unit.axis,
        "value": value,
        "usual": _range(history),
        "limit": _limits(low, high),
        "state": verdict.state if verdict else None,
        "beside_limit": verdict_beside_limit(verdict),
        "explanation": _explanation(metric),
        "missing": metric.missing_reason or "No reason was recorded." if value is None else None,
        "plot": _plot(value, history, low, high),
    }
    return {**row, "alt": _text(row, len(history))}


def current_distances(metric: MetricView) -> Distances | None:
    """What the detector in force measured."""
    if metric.verdict is None:
        return None
    return next((each for each in metric.distances if each.detector == metric.verdict.detector), None)


def _explanation(metric: MetricView) -> str | None:
    current = current_distances(metric)
    text = (current.evidence_text if current else None) or (metric.verdict.explanation if metric.verdict else None)
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else None


def _range(values: list[float]) -> str | None:
    if not values:
        return None
    low, high = wording.number(min(values)), wording.number(max(values))
    return low if low == high else f"{low} to {high}"


def _limits(low: float | None, high: float | None) -> str | None:
    told = [f"at least {wording.number(low)}"] if low is not None else []
    told += [f"at most {wording.number(high)}"] if high is not None else []
    return " and ".join(told) or None


def _plot(value: float | None, history: list[float], low: float | None, high: float | None) -> dict[str, Any] | None:
    """Places in percent of the width. A limit far from all values is left out, or the dots would be one."""
    dots = [*history, *([] if value is None else [value])]
    if not history:
        return None
    least, most = min(dots), max(dots)
    reach = 2 * (most - least) or abs(most) or 1.0
    shown = [limit for limit in (low, high) if limit is not None and least - reach <= limit <= most + reach]
    least, most = min(least, *shown, most), max(most, *shown, least)
    span = (most - least) or 1.0

    def at(number: float) -> float:
        return round(_MARGIN + (100 - 2 * _MARGIN) * (number - least) / span, 2)

    return {
        "history": [at(each) for each in history],
        "median": at(float(np.median(history))),
        "value": None if value is None else at(value),
        "limits": [at(limit) for limit in shown],
    }


def _text(row: dict[str, Any], count: int) -> str:
    """What the plot shows, for those who do not see it."""
    unit = f" {row['unit']}" if row["unit"] else ""
    this = "this run has none" if row["value"] is None else f"this run {wording.number(row['value'])}{unit}"
    parts = [f"{row['label']}: {this}"]
    if count:
        parts.append(f"{how_many(count, 'comparable run')} {row['usual']}{unit}")
    if row["limit"]:
        parts.append(f"limit {row['limit']}{unit}")
    return "; ".join(parts) + "."
