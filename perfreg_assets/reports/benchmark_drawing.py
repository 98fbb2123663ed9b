"""Levels of benchmarks by version as SVG, of numbers alone: no text of a result gets into them unescaped."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from perfreg_assets.how_many import how_many
from perfreg_assets.reports.benchmark_data import Trend

WIDTH, HEIGHT = 260, 54


def draw_trend(one: Trend, version_count: int) -> Markup:
    """Level by version on a logarithmic scale, with the band of the earlier results and the alarms; what is inadequate
    has no level."""
    points = [
        (place, point, point.score)
        for place, point in zip(one.places, one.points, strict=True)
        if point.score is not None
    ]
    bounds = [score for _, _, score in points]
    bounds += [value for _, point, _ in points for value in (point.low, point.high) if value is not None]
    low, high = math.log(min(bounds, default=1.0)), math.log(max(bounds, default=1.0))
    low, high = (low - 0.02, high + 0.02) if high - low < 0.04 else (low, high)

    def x(place: int) -> float:
        return 6 + (WIDTH - 12) * (place / (version_count - 1) if version_count > 1 else 0.5)

    def y(value: float) -> float:
        return HEIGHT - 6 - (HEIGHT - 12) * (math.log(value) - low) / (high - low)

    parts = []
    banded = [one for one in points if one[1].middle is not None]
    if banded:
        top = [(x(place), y(point.high or score)) for place, point, score in banded]
        bottom = [(x(place), y(point.low or score)) for place, point, score in reversed(banded)]
        parts.append(f'<polygon class="band" points="{_points(top + bottom)}"/>')
        middle = [(x(place), y(point.middle or score)) for place, point, score in banded]
        parts.append(f'<polyline class="middle" points="{_points(middle)}"/>')
    line = [(x(place), y(score)) for place, _, score in points]
    parts.append(f'<polyline class="level" points="{_points(line)}"/>')
    for (left, top_px), (_, point, _) in zip(line, points, strict=True):
        title = f"{point.version_name}: {point.explanation or point.state}"
        kind = "alarm" if point.state == "anomalous" else "point"
        radius = 3.5 if kind == "alarm" else 2
        place = f'cx="{left:.1f}" cy="{top_px:.1f}" r="{radius}"'
        parts.append(f'<circle class="{kind}" {place}><title>{escape(title)}</title></circle>')
    anomalous = sum(point.state == "anomalous" for point in one.points)
    label = f"{one.name}: {how_many(len(one.points), 'version')}, {anomalous} anomalous"
    if len(points) < len(one.points):
        label += f", {len(one.points) - len(points)} without an adequate result"
    return Markup(
        f'<svg class="bench-trend" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{left:.1f},{top:.1f}" for left, top in points)
