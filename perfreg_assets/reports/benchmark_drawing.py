"""Drawings of the pages of benchmarks as SVG, of numbers alone: no text of a result gets into them unescaped."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from perfreg_assets.how_many import how_many
from perfreg_assets.methods.benchmark_comparison import Comparison
from perfreg_assets.methods.benchmark_statistics import Change
from perfreg_assets.reports.benchmark_data import Trend

WIDTH, HEIGHT = 260, 54
_FOREST_WIDTH, _ROW, _LABELS, _FIGURES = 1060, 24, 420, 190
FOREST_TESTS = 60


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


def draw_forest(found: Comparison) -> Markup:
    """Ratios with their intervals: areas, all of them, and the tests that changed most."""
    tests = sorted(found.tests, key=lambda one: -abs(one.change.log_ratio))[:FOREST_TESTS]
    rows: list[tuple[str, Change, str, str]] = [
        ("all areas", found.overall.change, found.overall.verdict, "mean"),
        *((one.area or "", one.change, one.verdict, "mean") for one in found.areas),
        *((one.key, one.change, f"{one.verdict}{', implausible' if one.is_implausible else ''}", "test")
          for one in sorted(tests, key=lambda one: one.key)),
    ]  # fmt: skip
    ends = [abs(value) for _, change, _, _ in rows for value in (change.log_ratio, change.low, change.high)]
    reach = min(max([value for value in ends if not math.isnan(value)] + [0.05]), math.log(4)) * 1.05
    plot = _FOREST_WIDTH - _LABELS - _FIGURES
    sign = -1 if found.worse == "more" else 1

    def x(log_ratio: float) -> float:
        return _LABELS + plot / 2 * (1 + max(-1.0, min(1.0, sign * log_ratio / reach)))

    height = _ROW * (len(rows) + 1) + 8
    parts = [f'<line class="one" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="2" y2="{_ROW * len(rows) + 4}"/>']
    for number, (name, change, verdict, kind) in enumerate(rows):
        middle = _ROW * number + _ROW / 2
        low, high = found.interval(change)
        state = "slower" if verdict.startswith("slower") else "faster" if verdict.startswith("faster") else "same"
        short = name if len(name) <= 62 else f"…{name[-60:]}"
        ratio = found.ratio(change.log_ratio)
        told = f"{ratio:.3f}" if math.isnan(low) else f"{ratio:.3f}  [{low:.3f}, {high:.3f}]"
        parts.append(
            f'<text class="{kind}" x="0" y="{middle + 4:.1f}">{escape(short)}<title>{escape(name)}</title></text>'
        )
        if not math.isnan(change.low):
            left, right = sorted((x(change.low), x(change.high)))
            parts.append(
                f'<line class="interval {state}" x1="{left:.1f}" x2="{right:.1f}" y1="{middle}" y2="{middle}"/>'
            )
        size = 5 if kind == "mean" else 3.5
        parts.append(f'<circle class="{state}" cx="{x(change.log_ratio):.1f}" cy="{middle}" r="{size}"/>')
        parts.append(f'<text class="figure" x="{_FOREST_WIDTH}" y="{middle + 4:.1f}" text-anchor="end">{told}</text>')
    for ratio in _ticks(math.exp(reach)):
        place = f'x="{x(sign * math.log(ratio)):.1f}" y="{height - 4}" text-anchor="middle"'
        parts.append(f'<text class="figure" {place}>{ratio:g}</text>')
    return Markup(
        f'<svg class="bench-forest" viewBox="0 0 {_FOREST_WIDTH} {height}" role="img" '
        f'aria-label="Ratios with their intervals">{"".join(parts)}</svg>'
    )


def _ticks(reach: float) -> Sequence[float]:
    steps = (1.02, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0)
    step = max((one for one in steps if one < reach), default=steps[0])
    return round(1 / step, 2), 1.0, step


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{left:.1f},{top:.1f}" for left, top in points)
