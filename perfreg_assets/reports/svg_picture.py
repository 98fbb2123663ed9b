"""The picture of a series as one SVG file: the page's still (`still_chart`) with what the page says around it, for
places that have no style sheet (Dagster's metadata). Drawn in a hundredth of the time that a PNG takes (`charts`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

import numpy as np

from perfreg_assets.reports.box_plot import BoxPlot, box_plot
from perfreg_assets.reports.colours import ALERT_COLOUR, HISTORY_COLOUR, RUN_COLOUR, TEXT_COLOUR
from perfreg_assets.reports.data import SeriesView
from perfreg_assets.reports.series_chart import (
    BARYCENTER_KEY,
    DARKENING,
    FAINTEST,
    RUN_KEY,
    UNEXAMINED_KEY,
    WINDOW_KEY,
    SeriesChart,
    band_key,
    series_chart,
)
from perfreg_assets.reports.still_chart import HEIGHT, WIDTH, plot_parts, ticks

SIZE = (760, 260)
_TOP, _BOTTOM = 26, 206
_LEFT, _SIDE = 58, 630
"""Where the plot begins, and where the box plot does; the plot ends before it."""
_STYLE = f"""
text {{ font: 10px sans-serif; fill: {TEXT_COLOUR}; }} .title {{ font-size: 13px; }} .y {{ text-anchor: end; }}
.x, .message, .unit {{ text-anchor: middle; }} .frame {{ fill: none; stroke: {HISTORY_COLOUR}; stroke-width: .6; }}
polyline, .line {{ fill: none; stroke: {RUN_COLOUR}; stroke-width: 1.5; vector-effect: non-scaling-stroke; }}
.history {{ stroke: {HISTORY_COLOUR}; stroke-width: 1.2; stroke-dasharray: 1.5 2.5; }}
.band {{ fill: {HISTORY_COLOUR}; fill-opacity: .2; }} .window {{ fill: {ALERT_COLOUR}; }}
.hatched {{ fill: url(#hatch); }} .whiskers {{ fill: #fff; stroke: {HISTORY_COLOUR}; }}
.limit {{ stroke: {ALERT_COLOUR}; stroke-dasharray: 4 3; }} .dot {{ fill: {HISTORY_COLOUR}; fill-opacity: .7; }}
.own {{ fill: {RUN_COLOUR}; }} .alarm {{ fill: {ALERT_COLOUR}; }}
"""
_HATCH = (
    '<defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    f'<path d="M0 0V7" stroke="{HISTORY_COLOUR}" stroke-opacity=".45"/></pattern></defs>'
)


def svg_of(series: SeriesView, title: str) -> str:
    """The run with its history, barycenter and suspicious windows, and the box plot beside it when its distances are
    known. A missing series says so."""
    width, height = SIZE
    box = box_plot(series)
    chart = series_chart(series)
    right = _SIDE - 60 if box is not None else width - 12
    if chart is None or not np.isfinite(chart.values).any():
        middle = (_LEFT + right) // 2
        parts = [_text(middle, height // 2, series.missing_reason or "missing", "message")]
    else:
        parts = [*_time(chart, right), *_legend(chart)]
    if box is not None:
        parts += _box(box, is_anomalous=bool(series.verdict and series.verdict.is_anomalous))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f'<style>{_STYLE}</style>{_HATCH}<rect width="100%" height="100%" fill="#fff"/>'
        f"{_text(_LEFT, 16, title, 'title')}{''.join(parts)}</svg>"
    )


def _time(chart: SeriesChart, right: int) -> Iterable[str]:
    low, high = chart.range()
    span_s = max(chart.span_s, chart.interval_s)
    wide, tall = right - _LEFT, _BOTTOM - _TOP
    yield (
        f'<svg x="{_LEFT}" y="{_TOP}" width="{wide}" height="{tall}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'preserveAspectRatio="none">{"".join(plot_parts(chart, low, high, span_s))}</svg>'
    )
    for start, end in chart.unexamined:
        yield (
            f'<rect class="hatched" x="{_LEFT + wide * start / span_s:.1f}" y="{_TOP}" '
            f'width="{wide * (end - start) / span_s:.1f}" height="{tall}"/>'
        )
    yield f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{wide}" height="{tall}"/>'
    for tick, text in ticks(low, high):
        yield _text(_LEFT - 5, _height(tick, low, high) + 3, text, "y")
    for tick, text in ticks(0.0, span_s):
        yield _text(_LEFT + wide * tick / span_s, _BOTTOM + 14, f"{text} s", "x")
    middle = (_TOP + _BOTTOM) / 2
    yield f'<g transform="rotate(-90 12 {middle})">{_text(12, middle, chart.axis, "unit")}</g>'


def _legend(chart: SeriesChart) -> Iterable[str]:
    """Each kind that is drawn, once."""
    keys = [("run line", RUN_KEY)]
    if chart.barycenter is not None:
        keys.append(("history line", BARYCENTER_KEY))
    if chart.band is not None:
        keys.append(("band", band_key(chart.band)))
    if chart.windows:
        keys.append(("window", WINDOW_KEY))
    if chart.unexamined:
        keys.append(("hatched", UNEXAMINED_KEY))
    x, y = _LEFT, _BOTTOM + 38
    for kind, name in keys:
        if kind.endswith("line"):
            yield f'<path class="{kind}" d="M{x} {y - 3}h18"/>'
        else:
            opacity = f' fill-opacity="{FAINTEST + DARKENING:g}"' if kind == "window" else ""
            yield f'<rect class="{kind}" x="{x}" y="{y - 8}" width="18" height="10"{opacity}/>'
        yield _text(x + 23, y, name)
        x += 40 + 6 * len(name)


def _box(box: BoxPlot, *, is_anomalous: bool) -> Iterable[str]:
    low, high = box.range()
    wide = SIZE[0] - 12 - _SIDE
    middle = _SIDE + wide / 2

    def at(value: float) -> float:
        return _height(value, low, high)

    yield _text(_SIDE, _TOP - 6, box.title)
    yield f'<rect class="frame" x="{_SIDE}" y="{_TOP}" width="{wide}" height="{_BOTTOM - _TOP}"/>'
    for tick, text in ticks(low, high):
        yield _text(_SIDE - 5, at(tick) + 3, text, "y")
    yield f'<path class="whiskers" d="M{middle:.1f} {at(box.low):.1f}V{at(box.high):.1f}"/>'
    quarter = wide / 4
    yield (
        f'<rect class="whiskers" x="{middle - quarter:.1f}" y="{at(box.q3):.1f}" width="{2 * quarter:.1f}" '
        f'height="{at(box.q1) - at(box.q3):.1f}"/>'
    )
    yield f'<path class="whiskers" d="M{middle - quarter:.1f} {at(box.median):.1f}h{2 * quarter:.1f}"/>'
    for one in box.history[(box.history < box.low) | (box.history > box.high)]:
        yield f'<circle class="dot" cx="{middle:.1f}" cy="{at(float(one)):.1f}" r="2"/>'
    if box.limit is not None:
        yield f'<path class="line limit" d="M{_SIDE} {at(box.limit):.1f}h{wide}"/>'
        yield f'<g fill="{ALERT_COLOUR}">{_text(SIZE[0] - 14, at(box.limit) - 3, box.limit_name, "y")}</g>'
    kind = "own alarm" if is_anomalous else "own"
    yield f'<path class="{kind}" d="M{middle:.1f} {at(box.distance) - 5:.1f}l5 5l-5 5l-5 -5z"/>'


def _height(value: float, low: float, high: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * (value - low) / (high - low)


_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML file may hold, not even escaped."""


def _text(x: float, y: float, text: str, kind: str = "name") -> str:
    """Names come from runs and apps: none ends the text."""
    clean = escape(_NOT_XML.sub("�", text))
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{clean}</text>'
