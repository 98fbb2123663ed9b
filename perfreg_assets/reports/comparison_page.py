"""Two sides of runs as one page that needs nothing else: aligned series with the difference shaded, totals, threads.

Without scripts; may be sent or kept as it is. `perfreg serve` gives it the site's header.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from perfreg_assets.methods.dtw import align
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.reports import wording
from perfreg_assets.reports.grown_words import GROWN_WORDS
from perfreg_assets.reports.templating import ALONE_POLICY, CONTENT_POLICY, render

WIDTH, HEIGHT = 1040, 150
_GROWTH = ("growth_a", "growth_b", "growth_difference", "growth_low", "growth_high", "growth_detectable")
_RADIUS_SHARE = 10  # a course may be shifted against the other by a tenth of its length


@dataclass(frozen=True)
class Course:
    """A series on both sides, in seconds since the beginning of the first one's runs.

    Attributes:
        a, b: (n,), (m,) means over the runs of a side, in the unit of the series.
    """

    series: str
    unit: str
    interval_s: float
    a: Floats
    b: Floats


@dataclass(frozen=True)
class Panel:
    """A drawing in pixels: SVG paths of both sides, and of the areas between them where the second has more or less."""

    title: str
    axis: str
    top: float
    length_s: float
    path_a: str
    path_b: str
    more: str
    less: str


def render_comparison_page(told: Mapping[str, Any], courses: Sequence[Course], *, is_served: bool = False) -> str:
    """The page as HTML text.

    Args:
        told: what `perfreg compare --format json` gives.
        courses: of the series that are drawn, in their order.
        is_served: part of a site, with the way to its other pages; otherwise it stands alone.
    """
    rows = [_row(row) for row in told["series"]]
    return render(
        "comparison.html.j2",
        {
            "content_policy": CONTENT_POLICY if is_served else ALONE_POLICY,
            "is_served": is_served,
            "root": "/",
            "page": "comparison",
            "referrer": "no-referrer",
            "told": told,
            "grown": [_grown(source, told[source["source"]]) for source in told["sources"]],
            "width": WIDTH,
            "height": HEIGHT,
            "panels": [panel_of(one) for one in courses],
            "growing": [row for row in rows if row["growth_difference"] is not None],
            "judged": [row for row in rows if row["is_judged"]],
            "others": [row for row in rows if not row["is_judged"]],
        },
    )


def _grown(source: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A source as its table shows it."""
    words = GROWN_WORDS[source["source"]]
    return {
        **source,
        **words._asdict(),
        "is_named": source["source"] != "threads",
        "rows": [{"path": (), **row} for row in rows],
    }


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A series as the table shows it, in the unit of its axis."""
    unit = wording.unit_of(row["series"], row["unit"])
    shown = {
        name: None if row[name] is None else row[name] * unit.factor
        for name in ("mean_a", "mean_b", "difference", "low", "high", "detectable", *_GROWTH)
    }
    return {**row, **shown, "label": wording.series_label(row["series"]), "unit": unit.axis}


def panel_of(one: Course) -> Panel:
    """The second side is warped onto the time of the first (DTW, by a tenth of the length at most), so that the same
    doings stand above each other."""
    unit = wording.unit_of(one.series, one.unit)
    a = one.a * unit.factor
    b = align(one.a, one.b, radius=_radius(one)).matched * unit.factor
    low = min(0.0, float(min(a.min(), b.min())))
    top = float(max(a.max(), b.max())) or 1.0
    x = [round(WIDTH * place / max(1, len(a) - 1), 1) for place in range(len(a))]
    y_a, y_b = ([round(HEIGHT * (1 - (float(v) - low) / (top - low)), 1) for v in side] for side in (a, b))
    return Panel(
        title=wording.series_label(one.series),
        axis=unit.axis,
        top=top,
        length_s=len(a) * one.interval_s,
        path_a=_line(x, y_a),
        path_b=_line(x, y_b),
        more=_between(x, y_a, [min(p, q) for p, q in zip(y_a, y_b, strict=True)]),
        less=_between(x, y_a, [max(p, q) for p, q in zip(y_a, y_b, strict=True)]),
    )


def _radius(one: Course) -> int:
    longer = max(len(one.a), len(one.b))
    return int(np.ceil(longer / _RADIUS_SHARE))


def _line(x: Sequence[float], y: Sequence[float]) -> str:
    return "M" + " L".join(f"{left} {top}" for left, top in zip(x, y, strict=True))


def _between(x: Sequence[float], first: Sequence[float], second: Sequence[float]) -> str:
    """The area between two lines, along the first and back along the second."""
    back = " L".join(f"{left} {top}" for left, top in zip(reversed(x), reversed(second), strict=True))
    return f"{_line(x, first)} L{back} Z"
