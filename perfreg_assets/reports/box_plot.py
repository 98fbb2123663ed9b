"""The distances of a series' history and of the run itself as a box plot: what is drawn, still or live."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfreg_assets.reports import wording
from perfreg_assets.reports.data import Distances, SeriesView

_WHISKER = 1.5  # multiples of q3 − q1, as Tukey's


@dataclass(frozen=True, slots=True)
class BoxPlot:
    """In the unit they are drawn in. `low` and `high` are the whiskers' ends, `limit` the threshold in force."""

    history: np.ndarray
    distance: float
    q1: float
    median: float
    q3: float
    low: float
    high: float
    limit: float | None
    limit_name: str
    title: str

    def range(self) -> tuple[float, float]:
        """Lowest and highest value shown, 0 among them, with some room above."""
        limits = [] if self.limit is None else [self.limit]
        shown = [*(float(one) for one in self.history), self.distance, self.low, self.high, *limits]
        low, high = min(0.0, *shown), max(shown)
        return low, high + 0.055 * (high - low or 1.0)

    @property
    def text(self) -> str:
        """For those who do not see it."""
        return (
            f"Box plot, {self.title}: {len(self.history)} history runs, quartiles {wording.number(self.q1)} "
            f"and {wording.number(self.q3)}; this run {wording.number(self.distance)}."
        )


def box_plot(series: SeriesView) -> BoxPlot | None:
    """Of the distances by the detector that decided, so that plot and verdict speak of the same limit; of another where
    the deciding one has no history to show, and None where none has. A distance has the unit of its series, a score
    none."""
    shown = _shown(series)
    if shown is None:
        return None
    unit = wording.unit_of(series.name, series.unit)
    is_distance = wording.scale_of(shown.detector) == "distance"
    factor = unit.factor if is_distance else 1.0
    history = np.asarray(shown.history_distances, dtype=float) * factor
    q1, q3 = shown.q1 * factor, shown.q3 * factor
    reach = _WHISKER * (q3 - q1)
    inside = history[(history >= q1 - reach) & (history <= q3 + reach)]
    inside = inside if len(inside) else history
    return BoxPlot(
        history=history,
        distance=shown.distance * factor,
        q1=q1,
        median=float(np.median(history)),
        q3=q3,
        low=float(min(inside.min(), q1)),
        high=float(max(inside.max(), q3)),
        limit=shown.threshold * factor if shown.threshold is not None else None,
        limit_name="limit"
        if series.verdict and series.verdict.detector == shown.detector
        else f"{shown.detector} limit",
        title=f"distance, {unit.axis}" if is_distance else "score",
    )


def _shown(series: SeriesView) -> Distances | None:
    known = [one for one in series.distances if len(one.history_distances) > 1]
    in_force = series.verdict.detector if series.verdict else None
    return max(
        known, key=lambda one: (one.detector == in_force, wording.scale_of(one.detector) == "distance"), default=None
    )
