"""The one picture that says most about some runs: their worst series, beside its history."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from perfreg_assets.reports import loading
from perfreg_assets.reports.charts import draw_series
from perfreg_assets.reports.data import SeriesView
from perfreg_assets.reports.svg_picture import svg_of
from perfreg_assets.reports.wording import series_label
from perfreg_assets.run import RUN_LEVEL
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.run_conditions import of


@dataclass(frozen=True, slots=True)
class Picture:
    """One series of one run to be drawn, and what it shows in words."""

    run_id: str
    series: str
    state: str
    title: str
    view: SeriesView

    @property
    def png(self) -> bytes:
        """For places that show nothing else; matplotlib draws it."""
        return draw_series(self.view, title=self.title)

    @property
    def svg(self) -> str:
        """The same for places that show SVG, and for those who draw with each run."""
        return svg_of(self.view, self.title)

    @property
    def caption(self) -> str:
        return f"{self.series} of {self.run_id}, {self.state}"


# The series of metrics have no course to draw.
_WORST = """
SELECT judged.run_id, judged.series, judged.version_name, judged.state
FROM marts.verdicts AS judged
LEFT JOIN (SELECT DISTINCT run_no, series FROM marts.discords WHERE {of}) AS placed
    ON placed.run_no = judged.run_no AND placed.series = judged.series
WHERE judged.is_current AND judged.state IN ('anomalous', 'improved', 'normal') AND judged.series <> ? AND {of_judged}
    AND judged.series NOT IN (SELECT metric FROM marts.measurements WHERE subject_kind = 'run' AND {of})
ORDER BY judged.is_anomalous DESC, placed.run_no IS NOT NULL DESC, judged.critical_omega DESC, judged.run_id DESC,
    judged.series
LIMIT 1
"""


def picture_of_worst(reader: Reader, run_ids: Collection[str] | None = None) -> Picture | None:
    """The judged series that is farthest beyond its threshold, one with windows first; None when none was judged.

    Args:
        run_ids: of these runs only; None: of all.
    """
    columns = {"of": "run_no", "of_judged": "judged.run_no"}
    conditions = {name: "true" if run_ids is None else of(reader, run_ids, column) for name, column in columns.items()}
    rows = reader.rows(_WORST.format(**conditions), [RUN_LEVEL])
    if not rows:
        return None
    run_id, series, version_name, state = rows[0]
    title = f"{series_label(series)} · {run_id} · {version_name} · {state}"
    view = loading.load_series_view(reader, run_id, series)
    return Picture(run_id, series, state, title, view)
