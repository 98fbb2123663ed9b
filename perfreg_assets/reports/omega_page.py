"""The ω page: which verdicts change between two sensitivities, beside the false-alarm rate measured at each."""

from __future__ import annotations

from typing import Any

from perfreg_assets.reports import wording
from perfreg_assets.reports.data import OmegaOverview
from perfreg_assets.reports.links import page_name
from perfreg_assets.reports.templating import embed_json, render
from perfreg_assets.run import RUN_LEVEL

OMEGA_MAXIMUM = 5.0
"""Right end of the sliders; the thesis' range is 0 to 1.5."""


def render_omega_page(overview: OmegaOverview) -> str:
    """The page as HTML text."""
    rows = _rows(overview)
    return render(
        "omega.html.j2",
        {
            "root": "",
            "page": "omega",
            "omega": overview.omega,
            "detector": wording.detector_text(overview.detector),
            "maximum": OMEGA_MAXIMUM,
            "judged": len(rows),
            "measured": _measured(overview),
            "dataset": next((q.dataset for q in overview.quality), None),
            "payload": embed_json({"omega": overview.omega, "rows": rows, "rates": _rates(overview)}),
        },
    )


def _rows(overview: OmegaOverview) -> list[list[Any]]:
    """Per measured run: id, page, app, version, critical ω (null = never anomalous, 1e9 = at every ω), review, and
    whether it lacks a series of its history: where such a run is not anomalous it is not judged."""
    found: list[tuple[float, list[Any]]] = []
    for verdict in overview.verdicts:
        omega = verdict.critical_omega
        if verdict.series != RUN_LEVEL or omega is None:
            continue
        run = overview.runs.get(verdict.run_id)
        shown = None if omega == float("-inf") else 1e9 if omega == float("inf") else round(omega, 4)
        name, version, review = (run.app, run.version_name, run.review_status) if run else (None, None, None)
        row = [verdict.run_id, page_name(verdict.run_id), name, version, shown, review, bool(verdict.missing_series)]
        found.append((omega, row))
    found.sort(key=lambda pair: (-pair[0], pair[1][0]))
    return [row for _, row in found]


def _rates(overview: OmegaOverview) -> list[list[float]]:
    return sorted(
        [r.omega, r.rate] for r in overview.false_alarms if r.detector == overview.detector and r.rate is not None
    )


def _measured(overview: OmegaOverview) -> list[dict[str, Any]]:
    """One line per ω of the current detector: what the warehouse's own runs and the last evaluation say."""
    rates = {r.omega: r for r in overview.false_alarms if r.detector == overview.detector}
    quality = {q.omega: q for q in overview.quality if q.detector == overview.detector and q.omega is not None}
    return [
        {"omega": omega, "rate": rates.get(omega), "quality": quality.get(omega), "is_current": omega == overview.omega}
        for omega in sorted({*rates, *quality})
    ]
