"""The chart of a series as a still in the page itself: seen at the first paint, on paper and without scripts.

The chart that can be zoomed takes its place once the library for it is there (scripts/series-figure.js); both put plot,
strip of screens and profile in the same places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from perfreg_assets.methods.inputs import Floats
from perfreg_assets.reports.box_plot import BoxPlot
from perfreg_assets.reports.series_chart import SeriesChart

WIDTH, HEIGHT = 2000, 1000
"""Steps across a plot, whatever its size on the screen."""
MOST_POINTS = 400
"""Of a line; where there are more, the lowest and highest of neighbours are drawn, so that no spike is lost."""
TICKS = 5
END = 0.95
"""Share of the time axis behind which a tick's text ends at the edge, where it would not fit in the middle."""
COLOURS = 8
"""Of screens, as in the style sheet; then they repeat, and the number tells."""


def still_chart(chart: SeriesChart, path: Mapping[str, Any] | None, span_s: float) -> Markup:
    """HTML of the still; empty where there is nothing to draw.

    Args:
        path: the screens over time, see `run_page`.
        span_s: length of the time axis, of all charts of the page.
    """
    if not np.isfinite(chart.values).any():
        return Markup("")
    low, high = chart.range()
    parts = ['<div class="still" aria-hidden="true"><div class="plot">', _svg(plot_parts(chart, low, high, span_s))]
    parts += [
        f'<i class="hatched" style="left:{100 * start / span_s:.2f}%;width:{100 * (end - start) / span_s:.2f}%"></i>'
        for start, end in chart.unexamined
    ]
    parts += [
        f'<span class="y" style="bottom:{100 * (tick - low) / (high - low):.1f}%">{text}</span>'
        for tick, text in ticks(low, high)
    ]
    parts.append(f'<b class="unit">{escape(chart.axis)}</b></div>')
    if path is not None:
        parts.append(f'<div class="strip">{"".join(_strip(path, span_s))}</div>')
    if chart.profile is not None:
        parts.append(f'<div class="profile">{_profile(chart, span_s)}</div>')
    parts += [
        f'<span class="x{" end" if tick / span_s > END else ""}" '
        f'style="left:calc(56px + (100% - 64px) * {tick / span_s:.4f})">{text} s</span>'
        for tick, text in ticks(0.0, span_s)
    ]
    return Markup("".join((*parts, "</div>")))  # numbers, and one unit that is escaped


def still_box(box: BoxPlot, *, is_anomalous: bool) -> Markup:
    """HTML of the box plot's still: quartiles, whiskers and dots of the history, a diamond for this run, the limit."""
    low, high = box.range()

    def at(value: float) -> str:
        return f"bottom:{100 * (value - low) / (high - low):.1f}%"

    def tall(begin: float, end: float) -> str:
        return f"{at(begin)};height:{100 * (end - begin) / (high - low):.1f}%"

    parts = [f'<b class="scale">{escape(box.title)}</b><div class="plot">']
    parts += [f'<span class="y" style="{at(tick)}">{text}</span>' for tick, text in ticks(low, high)]
    parts.append(f'<i class="whiskers" style="{tall(box.low, box.high)}"></i>')
    parts.append(
        f'<i class="quartiles" style="{tall(box.q1, box.q3)}"></i><i class="median" style="{at(box.median)}"></i>'
    )
    parts += [f'<i class="dot" style="{at(float(one))}"></i>' for one in box.history]
    if box.limit is not None:
        parts.append(f'<i class="limit" style="{at(box.limit)}"><b>{escape(box.limit_name)}</b></i>')
    kind = "own alarm" if is_anomalous else "own"
    parts.append(f'<i class="{kind}" style="{at(box.distance)}"></i></div>')
    return Markup(
        f'<div class="still" aria-hidden="true">{"".join(parts)}</div>'
    )  # numbers, and texts that are escaped


def plot_parts(chart: SeriesChart, low: float, high: float, span_s: float) -> list[str]:
    """Band, windows and lines as elements of an SVG of `WIDTH` × `HEIGHT`, marked by class; the run's line last."""

    def line(values: Floats) -> list[tuple[int, int]]:
        return [
            (round(WIDTH * at * chart.interval_s / span_s), round(HEIGHT * (high - value) / (high - low)))
            for at, value in _thinned(values)
        ]

    parts = []
    if chart.band is not None:
        known = np.isfinite(chart.band.low) & np.isfinite(chart.band.high)
        upper = line(np.where(known, chart.band.high, np.nan))
        lower = line(np.where(known, chart.band.low, np.nan))
        if upper:
            parts.append(f'<polygon class="band" points="{_points([*upper, *reversed(lower)])}"/>')
    for window in chart.windows:
        x0, x1 = (WIDTH * at / span_s for at in (window.start_s, window.end_s))
        parts.append(
            f'<rect class="window" x="{x0:.0f}" width="{max(x1 - x0, 1):.0f}" y="0" height="{HEIGHT}" '
            f'style="fill-opacity:{window.opacity:.3f}"/>'
        )
    for kind, values in (("history", chart.barycenter), ("run", chart.values)):
        if values is not None:
            parts += [f'<polyline class="{kind}" points="{_points(one)}"/>' for one in _stretches(values, line)]
    return parts


def _profile(chart: SeriesChart, span_s: float) -> str:
    profile = chart.profile
    assert profile is not None  # asked for by who has one
    levels = [one for one in (profile.threshold_low, profile.threshold_high) if one is not None]
    high = 1.055 * max(float(np.nanmax(profile.values)), *levels, 1e-9)
    half = profile.window_s / 2  # a window's value stands at its middle

    def line(values: Floats) -> list[tuple[int, int]]:
        return [
            (round(WIDTH * (at * chart.interval_s + half) / span_s), round(HEIGHT * (1 - value / high)))
            for at, value in _thinned(values)
        ]

    parts = [f'<polyline class="run" points="{_points(one)}"/>' for one in _stretches(profile.values, line)]
    for kind, level in (("low", profile.threshold_low), ("high", profile.threshold_high)):
        if level is not None:
            y = round(HEIGHT * (1 - level / high))
            parts.append(f'<line class="limit {kind}" x1="0" x2="{WIDTH}" y1="{y}" y2="{y}"/>')
    return _svg(parts)


def _strip(path: Mapping[str, Any], span_s: float) -> list[str]:
    ends = [*path["starts"][1:], path["end"]]
    found = []
    for start, end, code in zip(path["starts"], ends, path["codes"], strict=True):
        if code is None:
            continue
        share = (end - start) / span_s
        place = f"left:{100 * start / span_s:.2f}%;width:{100 * share:.2f}%;background:var(--c{code % COLOURS})"
        text = str(code + 1) if share > 0.02 else ""
        found.append(f'<i style="{place}">{text}</i>')
    return found


def _svg(parts: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none">{"".join(parts)}</svg>'


def _points(points: Sequence[tuple[int, int]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)


def _stretches(values: Floats, line: Any) -> list[list[tuple[int, int]]]:
    """Parts without a gap; a gap is where several values in a row are missing, or one where all are drawn."""
    finite = np.isfinite(values)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], finite, [False])).astype(np.int8)))
    found = []
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        part = np.full(len(values), np.nan)
        part[begin:end] = values[begin:end]
        points = line(part)
        if len(points) > 1:
            found.append(points)
    return found


def _thinned(values: Floats) -> list[tuple[float, float]]:
    """(Place, value) of what is known; of groups of neighbours the lowest and the highest, in their order."""
    known = np.flatnonzero(np.isfinite(values))
    if len(values) <= MOST_POINTS:
        return [(float(at), float(values[at])) for at in known]
    size = -(-len(values) // (MOST_POINTS // 2))
    found: list[tuple[float, float]] = []
    for group in np.split(known, np.flatnonzero(np.diff(known // size)) + 1):
        if len(group):
            ends = {int(group[np.argmin(values[group])]), int(group[np.argmax(values[group])])}
            found += [(float(at), float(values[at])) for at in sorted(ends)]
    return found


def ticks(low: float, high: float) -> list[tuple[float, str]]:
    """About `TICKS` round numbers within the range, with their texts."""
    if not high > low:
        return []
    rough = (high - low) / TICKS
    magnitude = 10.0 ** np.floor(np.log10(rough))
    step = float(magnitude * min((1, 2, 5, 10), key=lambda one: abs(one - rough / magnitude)))
    first, last = int(np.ceil(low / step)), int(np.floor(high / step + 1e-9))
    return [(number * step, f"{number * step:.6g}") for number in range(first, last + 1)]
