"""The one picture that says most about some runs: their worst series, beside its history."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from perfreg_assets.reports import loading
from perfreg_assets.reports.charts import draw_series
from perfreg_assets.reports.data import RunDetail, SeriesView
from perfreg_assets.reports.loading_metrics import load_metric_names
from perfreg_assets.reports.wording import series_label
from perfreg_assets.run import RUN_LEVEL
from perfreg_assets.warehouse.connection import Reader


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG of one series of one run, and what it shows in words."""

    run_id: str
    series: str
    state: str
    png: bytes

    @property
    def caption(self) -> str:
        return f"{self.series} of {self.run_id}, {self.state}"


def picture_of_worst(reader: Reader, run_ids: Collection[str] | None = None) -> Picture | None:
    """The judged series that is farthest beyond its threshold, one with windows first; None when none was judged."""
    runs = loading.load_runs(reader)
    without_course = {RUN_LEVEL, *load_metric_names(reader)}
    verdicts = [
        verdict
        for verdict in loading.load_verdicts(reader)
        if verdict.series not in without_course
        and verdict.state in ("anomalous", "improved", "normal")
        and (run_ids is None or verdict.run_id in run_ids)
    ]
    if not verdicts:
        return None
    placed = loading.load_localised(reader)
    worst = max(
        verdicts,
        key=lambda one: (
            bool(one.is_anomalous),
            (one.run_id, one.series) in placed,
            one.critical_omega or float("-inf"),
            one.run_id,
        ),
    )
    (detail,) = loading.load_details(reader, [worst.run_id], runs, loading.PathSimilarities())
    view = _view(detail, worst.series)
    title = f"{series_label(worst.series)} · {worst.run_id} · {detail.run.version_name} · {worst.state}"
    return Picture(worst.run_id, worst.series, worst.state, draw_series(view, title=title))


def _view(detail: RunDetail, series: str) -> SeriesView:
    return next(view for view in detail.series if view.name == series)
