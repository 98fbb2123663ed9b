"""Drawings of power and charge as SVG, of numbers alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from markupsafe import Markup

from perfreg_assets.how_many import how_many
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.reports.data import SeriesView

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 1040, 220, 56, 22
_MOST_POINTS = 400
_TREND_WIDTH, _TREND_HEIGHT = 320, 64


def draw_power(estimated: SeriesView | None, measured: SeriesView | None) -> Markup | None:
    """mW over the session: the estimate with the band of its history, and what the rails of the cores measured over it;
    None where neither has a value."""
    shown = [one for one in (estimated, measured) if one is not None and _known(one.values) is not None]
    if not shown:
        return None
    span_s = max(len(one.values) * one.interval_s for one in shown if one.values is not None)
    lines = {"estimate": _thinned(estimated), "rail": _thinned(measured)}
    band = estimated.band if estimated is not None else None
    bounds = (_course(band.low, estimated), _course(band.high, estimated)) if band is not None and estimated else None
    tops = [line[1] for line in (*lines.values(), *(bounds or ())) if line is not None]
    top = max(float(np.nanmax(values)) for values in tops) * 1.05 or 1.0

    def x(second: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - 6) * second / span_s

    def y(value: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - 8) * max(value, 0.0) / top

    parts = [_axes(top, span_s, x, y)]
    lower, upper = bounds or (None, None)
    if lower is not None and upper is not None:
        (seconds, low), (_, high) = lower, upper
        known = np.isfinite(low) & np.isfinite(high)
        edge = [(x(s), y(v)) for s, v in zip(seconds[known], high[known], strict=True)]
        edge += [(x(s), y(v)) for s, v in zip(seconds[known][::-1], low[known][::-1], strict=True)]
        parts.append(f'<polygon class="band" points="{_points(edge)}"/>')
    for kind, line in lines.items():
        if line is not None:
            parts += [_drawn(kind, [(x(s), y(v)) for s, v in stretch]) for stretch in _stretches(*line)]
    return Markup(
        f'<svg class="power" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="Power of the cores over '
        f'{span_s:.0f} seconds, up to {top / 1.05:.0f} mW">{"".join(parts)}</svg>'
    )


def draw_versions(app_mah_per_h: Sequence[float], total_mah_per_h: Sequence[float]) -> Markup | None:
    """Charge per hour by version from 0 on, in order of time: everything, and the app's part of it; None of a single
    version, which the table tells."""
    if len(total_mah_per_h) < 2:
        return None
    top = max([*app_mah_per_h, *total_mah_per_h, 1e-9]) * 1.05

    def place(number: int, value: float) -> tuple[float, float]:
        share = number / (len(total_mah_per_h) - 1)
        return 6 + (_TREND_WIDTH - 12) * share, _TREND_HEIGHT - 6 - (_TREND_HEIGHT - 12) * value / top

    parts = []
    for kind, values in (("rail", total_mah_per_h), ("estimate", app_mah_per_h)):
        points = [place(number, value) for number, value in enumerate(values)]
        parts.append(f'<polyline class="{kind}" points="{_points(points)}"/>')
        parts += [f'<circle class="{kind}" cx="{left:.1f}" cy="{down:.1f}" r="2.5"/>' for left, down in points]
    return Markup(
        f'<svg class="power-trend" viewBox="0 0 {_TREND_WIDTH} {_TREND_HEIGHT}" width="{_TREND_WIDTH}" '
        f'height="{_TREND_HEIGHT}" role="img" '
        f'aria-label="Charge per hour of {how_many(len(total_mah_per_h), "version")}">'
        f"{''.join(parts)}</svg>"
    )


_Line = tuple[Floats, Floats]
"""Seconds (n,) and mW (n,)."""


def _known(values: Floats | None) -> Floats | None:
    return values if values is not None and np.isfinite(values).any() else None


def _thinned(series: SeriesView | None) -> _Line | None:
    return None if series is None else _course(series.values, series)


def _course(values: Floats | None, series: SeriesView) -> _Line | None:
    """Means over equal stretches, so that no more points are drawn than can be seen."""
    if _known(values) is None or values is None:
        return None
    step = -(-len(values) // _MOST_POINTS)
    padded = np.full(-(-len(values) // step) * step, np.nan)
    padded[: len(values)] = values
    rows = padded.reshape(-1, step)
    counts = np.isfinite(rows).sum(axis=1)
    means = np.where(counts > 0, np.nansum(rows, axis=1) / np.maximum(counts, 1), np.nan).astype(np.float64)
    seconds: Floats = (np.arange(len(means), dtype=np.float64) * step + min(step, len(values)) / 2) * series.interval_s
    return seconds, means


def _drawn(kind: str, points: Sequence[tuple[float, float]]) -> str:
    """A line, or a dot for a single point."""
    if len(points) > 1:
        return f'<polyline class="{kind}" points="{_points(points)}"/>'
    ((left, top),) = points
    return f'<circle class="{kind}" cx="{left:.1f}" cy="{top:.1f}" r="3"/>'


def _stretches(seconds: Floats, values: Floats) -> list[list[tuple[float, float]]]:
    """Parts without a gap."""
    found: list[list[tuple[float, float]]] = [[]]
    for second, value in zip(seconds.tolist(), values.tolist(), strict=True):
        if np.isfinite(value):
            found[-1].append((second, value))
        elif found[-1]:
            found.append([])
    return [one for one in found if one]


def _axes(top: float, span_s: float, x: Callable[[float], float], y: Callable[[float], float]) -> str:
    lines = []
    for share in (0.0, 0.5, 1.0):
        value = top / 1.05 * share
        lines.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 6}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>'
            f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.0f} mW</text>'
        )
        second = span_s * share
        anchor = {0.0: "start", 0.5: "middle", 1.0: "end"}[share]
        lines.append(f'<text x="{x(second):.1f}" y="{_HEIGHT - 4}" text-anchor="{anchor}">{second:.0f} s</text>')
    return "".join(lines)


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{left:.1f},{top:.1f}" for left, top in points)
