"""The ω page: which verdicts change between two sensitivities, beside the false-alarm rate measured at each."""

from __future__ import annotations

from typing import Any

from perfreg_assets.reports.data import RUN_LEVEL, OmegaOverview, Verdict
from perfreg_assets.reports.links import page_name
from perfreg_assets.reports.templating import embed_json, render

OMEGA_MAXIMUM = 5.0
"""Right end of the sliders; the thesis' range is 0 to 1.5."""


def critical_omega(verdict: Verdict) -> float | None:
    """The ω below which the series is anomalous: d > q3 + ω (q3 − q1) ⇔ ω < (d − q3) / (q3 − q1).

    None where nothing was judged; −inf where a second check takes every alarm away, +inf where the history
    has no spread and d lies above it.
    """
    if verdict.is_anomalous is None or verdict.distance is None or verdict.q1 is None or verdict.q3 is None:
        return None
    if verdict.is_recheck_passed is False:
        return float("-inf")
    spread = verdict.q3 - verdict.q1
    if spread <= 0:
        return float("inf") if verdict.distance > verdict.q3 else float("-inf")
    return (verdict.distance - verdict.q3) / spread


def render_omega_page(overview: OmegaOverview) -> str:
    """The page as HTML text."""
    rows = _rows(overview)
    return render(
        "omega.html.j2",
        {
            "root": "",
            "page": "omega",
            "omega": overview.omega,
            "detector": overview.detector,
            "maximum": OMEGA_MAXIMUM,
            "judged": len(rows),
            "measured": _measured(overview),
            "dataset": next((q.dataset for q in overview.quality), None),
            "payload": embed_json({"omega": overview.omega, "rows": rows, "rates": _rates(overview)}),
        },
    )


def _rows(overview: OmegaOverview) -> list[list[Any]]:
    """Per judged run: id, page, app, version, critical ω (null = never anomalous, 1e9 = at every ω), review."""
    found: list[tuple[float, list[Any]]] = []
    for verdict in overview.verdicts:
        omega = critical_omega(verdict)
        if verdict.series != RUN_LEVEL or omega is None:
            continue
        run = overview.runs.get(verdict.run_id)
        shown = None if omega == float("-inf") else 1e9 if omega == float("inf") else round(omega, 4)
        name, version, review = (run.app, run.version_name, run.review_status) if run else (None, None, None)
        found.append((omega, [verdict.run_id, page_name(verdict.run_id), name, version, shown, review]))
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
