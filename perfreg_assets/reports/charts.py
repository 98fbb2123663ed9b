"""One still picture per series: the run with its history, barycenter and suspicious windows, and the box plot beside.

A PNG, for places that show images but run no script: a comment in CI, the console demo, a chat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfreg_assets import figures
from perfreg_assets.reports import wording
from perfreg_assets.reports.box_plot import BoxPlot, box_plot
from perfreg_assets.reports.colours import ALERT_COLOUR, HISTORY_COLOUR, RUN_COLOUR, TEXT_COLOUR
from perfreg_assets.reports.data import SeriesView
from perfreg_assets.reports.series_chart import (
    BARYCENTER_KEY,
    RUN_KEY,
    UNEXAMINED_KEY,
    WINDOW_KEY,
    band_key,
    series_chart,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_series(series: SeriesView, *, title: str | None = None, width_px: int = 760, height_px: int = 260) -> bytes:
    """PNG of one series; the box plot is drawn when its distances are known. A missing series says so."""
    figure = figures.blank(width_px / 100, height_px / 100)
    box = box_plot(series)
    if box is not None:
        axes, side = figure.subplots(1, 2, width_ratios=[5, 1])
        _draw_box(side, box, is_anomalous=bool(series.verdict and series.verdict.is_anomalous))
    else:
        axes = figure.subplots()
    _draw_time(axes, series, title or wording.series_label(series.name))
    return figures.as_png(figure)


def _draw_time(axes: Axes, series: SeriesView, title: str) -> None:
    # A name from an app may hold dollar signs: they are not formulas.
    axes.set_title(title, loc="left", fontsize=10, color=TEXT_COLOUR, parse_math=False)
    chart = series_chart(series)
    if chart is None:
        axes.text(
            0.5,
            0.5,
            series.missing_reason or "missing",
            ha="center",
            wrap=True,
            transform=axes.transAxes,
            parse_math=False,
        )
        axes.set_axis_off()
        return

    def seconds(n: int) -> np.ndarray:
        return np.arange(n) * series.interval_s

    if chart.band is not None:
        band = chart.band
        axes.fill_between(
            seconds(len(band.low)), band.low, band.high,
            color=HISTORY_COLOUR, alpha=0.2, linewidth=0, label=band_key(band),
        )  # fmt: skip
    if chart.barycenter is not None:
        axes.plot(
            seconds(len(chart.barycenter)),
            chart.barycenter,
            color=HISTORY_COLOUR,
            linewidth=1.2,
            linestyle=":",
            label=BARYCENTER_KEY,
        )
    axes.plot(seconds(len(chart.values)), chart.values, color=RUN_COLOUR, linewidth=1.5, label=RUN_KEY)
    for place, window in enumerate(chart.windows):
        axes.axvspan(
            window.start_s,
            window.end_s,
            color=ALERT_COLOUR,
            alpha=window.opacity,
            linewidth=0,
            label=_first(place, WINDOW_KEY),
        )
    for place, (start, end) in enumerate(chart.unexamined):
        axes.axvspan(
            start,
            end,
            facecolor="none",
            edgecolor=HISTORY_COLOUR,
            alpha=0.3,
            linewidth=0,
            hatch="//",
            label=_first(place, UNEXAMINED_KEY),
        )
    if chart.is_from_zero:
        axes.set_ylim(bottom=0)
    axes.margins(x=0)
    axes.set_xlabel("seconds", fontsize=8, loc="left")
    axes.set_ylabel(chart.axis, fontsize=8)
    axes.legend(
        fontsize=7, frameon=False, loc="upper right", bbox_to_anchor=(1.0, -0.1), ncols=5,
        handlelength=1.6, columnspacing=1.2, borderaxespad=0.3,
    )  # fmt: skip
    _calm(axes)


def _first(place: int, label: str) -> str | None:
    """A label for the first of several of a kind: a legend names each kind once."""
    return label if place == 0 else None


def _draw_box(axes: Axes, box: BoxPlot, *, is_anomalous: bool) -> None:
    axes.bxp(
        [
            {
                "q1": box.q1, "med": box.median, "q3": box.q3, "whislo": box.low, "whishi": box.high,
                "fliers": box.history[(box.history < box.low) | (box.history > box.high)],
            }
        ],
        positions=[0], widths=0.5,
        boxprops={"color": HISTORY_COLOUR}, medianprops={"color": HISTORY_COLOUR},
        whiskerprops={"color": HISTORY_COLOUR}, capprops={"color": HISTORY_COLOUR},
        flierprops={"markersize": 3, "markeredgecolor": HISTORY_COLOUR},
    )  # fmt: skip
    axes.plot([0], [box.distance], "D", color=ALERT_COLOUR if is_anomalous else RUN_COLOUR, markersize=7)
    if box.limit is not None:
        axes.axhline(box.limit, color=ALERT_COLOUR, linestyle="--", linewidth=1)
        axes.annotate(
            box.limit_name, (1, box.limit), xycoords=("axes fraction", "data"), xytext=(0, 2),
            textcoords="offset points", ha="right", fontsize=7, color=ALERT_COLOUR, parse_math=False,
        )  # fmt: skip
    axes.set_title(box.title, loc="left", fontsize=8, color=TEXT_COLOUR)
    if box.low >= 0:
        axes.set_ylim(bottom=min(0.0, box.distance))
    axes.set_xticks([])
    _calm(axes)


def _calm(axes: Axes) -> None:
    axes.tick_params(labelsize=8, colors=HISTORY_COLOUR)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#C9D0D8")
