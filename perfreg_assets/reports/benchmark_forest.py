"""The ratios of two versions with their intervals as SVG, a row each: areas, all of them, and what changed most."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from perfreg_assets.methods.benchmark_comparison import Comparison, Verdict
from perfreg_assets.methods.benchmark_statistics import Change
from perfreg_assets.methods.benchmark_words import told_p, told_ratio

TESTS = 60
_WIDTH, _ROW = 1060, 24
_LABELS = 440
_PLOT, _PLOT_END = 456, 690
_RATIO_END, _P_END, _VERDICT = 900, 970, 982
_FONT = 12.5
_BOLD = 1.12
_DRAWN_MOST = math.log(4)
_ARROW, _ARROW_HEAD = 7.0, 4.0


@dataclass(frozen=True)
class Forest:
    """Attributes:
    low, high: the ratios that are drawn.
    has_beyond: whether something is beyond them, which an arrow at the edge stands for.
    """

    drawing: Markup
    low: float
    high: float
    has_beyond: bool


@dataclass(frozen=True)
class _Line:
    name: str
    change: Change
    p_value: float | None
    verdict: Verdict
    kind: str


def draw_forest(found: Comparison) -> Forest:
    """Of the tests those that changed most, at most TESTS."""
    lines = _lines(found)
    ends = [abs(value) for one in lines for value in (one.change.log_ratio, one.change.low, one.change.high)]
    reach = min(max([value for value in ends if not math.isnan(value)] + [0.05]), _DRAWN_MOST) * 1.05
    sign = -1 if found.worse == "more" else 1
    centre, half = (_PLOT + _PLOT_END) / 2, (_PLOT_END - _PLOT) / 2

    def x(log_ratio: float) -> float:
        return centre + half * max(-1.0, min(1.0, sign * log_ratio / reach))

    def is_beyond(log_ratio: float) -> bool:
        return abs(log_ratio) > reach  # NaN is not

    height = _ROW * (len(lines) + 2) + 8
    top, bottom = _ROW, _ROW * (len(lines) + 1) + 4
    labels = []
    parts = [f'<line class="one" x1="{centre:.1f}" x2="{centre:.1f}" y1="{top}" y2="{bottom}"/>', _header()]
    for number, one in enumerate(lines, 1):
        middle = _ROW * number + _ROW / 2
        state = one.verdict if one.verdict in ("slower", "faster") else "same"
        labels.append(_label(one, middle))
        told = _told(found, one.change)
        if not math.isnan(one.change.low):
            left, right = sorted((x(one.change.low), x(one.change.high)))
            place = f'x1="{left:.1f}" x2="{right:.1f}" y1="{middle}" y2="{middle}"'
            parts.append(f'<line class="interval {state}" {place}/>')
            for end in (one.change.low, one.change.high):
                if is_beyond(end):
                    parts.append(_arrow(x(end), middle, sign * end > 0, _ARROW_HEAD, state, told))
        if is_beyond(one.change.log_ratio):
            is_right = sign * one.change.log_ratio > 0
            parts.append(_arrow(x(one.change.log_ratio), middle, is_right, _ARROW, state, told))
        else:
            place = f'cx="{x(one.change.log_ratio):.1f}" cy="{middle}" r="{5 if one.kind == "mean" else 3.5}"'
            parts.append(f'<circle class="{state}" {place}><title>{told}</title></circle>')
        parts.append(_figure(_RATIO_END, middle + 4, told))
        if one.p_value is not None:
            parts.append(_figure(_P_END, middle + 4, told_p(one.p_value)))
        parts.append(_figure(_VERDICT, middle + 4, one.verdict, anchor="start"))
    for ratio in _ticks(math.exp(reach)):
        parts.append(_figure(x(sign * math.log(ratio)), height - 4, f"{ratio:g}", anchor="middle"))
    column = f'<svg width="{_LABELS}" height="{height}">{"".join(labels)}</svg>'  # one of its own cuts what is too wide
    return Forest(
        Markup(
            f'<svg class="bench-forest" viewBox="0 0 {_WIDTH} {height}" role="img" '
            f'aria-label="Ratios with their intervals">{"".join(parts)}{column}</svg>'
        ),
        math.exp(-reach),
        math.exp(reach),
        any(is_beyond(value) for one in lines for value in (one.change.log_ratio, one.change.low, one.change.high)),
    )


def _lines(found: Comparison) -> list[_Line]:
    tests = sorted(found.tests, key=lambda one: -abs(one.change.log_ratio))[:TESTS]
    return [
        _Line("all areas", found.overall.change, None, found.overall.verdict, "mean"),
        *(_Line(one.area or "", one.change, None, one.verdict, "mean") for one in found.areas),
        *(
            _Line(one.key, one.change, one.p_holm, one.verdict, "test")
            for one in sorted(tests, key=lambda one: one.key)
        ),
    ]


def _told(found: Comparison, change: Change) -> str:
    """ "1.085 [1.067, 1.096]", without an interval where nothing tells the noise."""
    low, high = found.interval(change)
    ratio = told_ratio(found.ratio(change.log_ratio))
    return ratio if math.isnan(low) else f"{ratio} [{told_ratio(low)}, {told_ratio(high)}]"


def _header() -> str:
    names = ((_RATIO_END, "ratio [95 % interval]", "end"), (_P_END, "p", "end"), (_VERDICT, "verdict", "start"))
    return "".join(_figure(left, _ROW / 2 + 4, name, anchor=anchor) for left, name, anchor in names)


def _figure(left: float, top: float, text: str, *, anchor: str = "end") -> str:
    return f'<text class="figure" x="{left:.1f}" y="{top:.1f}" text-anchor="{anchor}">{text}</text>'


def _label(one: _Line, middle: float) -> str:
    short = _shortened(one.name, _LABELS, _BOLD if one.kind == "mean" else 1.0)
    title = f"<title>{escape(one.name)}</title>"
    return f'<text class="{one.kind}" x="0" y="{middle + 4:.1f}">{escape(short)}{title}</text>'


def _arrow(edge: float, middle: float, is_right: bool, size: float, state: str, told: str) -> str:
    """Points out of the plot, its tip at the edge."""
    back = edge - size * 1.6 if is_right else edge + size * 1.6
    shape = f"M{edge:.1f} {middle}L{back:.1f} {middle - size}V{middle + size}Z"
    return f'<path class="beyond {state}" d="{shape}"><title>{told}: beyond what is drawn</title></path>'


def _shortened(name: str, width: float, factor: float) -> str:
    """The end of a name, which tells more than its beginning, as far as it surely has room; `factor`: of a bold one."""
    room = width / (_FONT * factor)
    widths = [_em(character) for character in name]
    if sum(widths) <= room:
        return name
    room -= _em("…")
    begin = len(name)
    while begin > 0 and widths[begin - 1] <= room:
        begin -= 1
        room -= widths[begin]
    return f"…{name[begin:]}"


def _em(character: str) -> float:
    """How wide a character is at most in a font without serifs, in its size."""
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF" or character in "mwMW@%…":
        return 1.0
    for width, known in ((0.42, "fijlrtI.,:;'|!()[]/ "), (0.56, "csxz_-"), (0.84, "=+<>~#&")):
        if character in known:
            return width
    return 0.64 if character.islower() or character.isdigit() else 0.75


def _ticks(reach: float) -> Sequence[float]:
    steps = (1.02, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0)
    step = max((one for one in steps if one < reach), default=steps[0])
    return round(1 / step, 2), 1.0, step
