"""Nominal against measured false-alarm rate: whether the knob means what it says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perfreg_assets import detection, figures
from perfreg_assets.evaluation.cases import Case
from perfreg_assets.evaluation.metrics import rate_interval
from perfreg_assets.methods.calibration import omega_of_level
from perfreg_assets.methods.omega_rule import is_anomalous
from perfreg_assets.run import RUN_LEVEL

LEVELS = (0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)


def reliability(cases: Sequence[Case], detector: str, *, seed: int) -> list[dict[str, Any]]:
    """Per nominal level the measured rate on normal cases, pooled, per series and for runs, with intervals.

    Scale `score`: the level is the one its ω stands for. A `distance` has no level of its own; what it promises is the
    share of the history that is at least as far away, (1 + #{D(H) >= d}) / (k + 1) at most the level.
    """
    is_score = detection.definition_of(detector).scale == "score"
    normal = [case for case in cases if not case.is_anomalous]
    series = ["all", *sorted({case.series for case in normal})]
    points = []
    for name in series:
        some = [case for case in normal if case.series == name or (name == "all" and case.series != RUN_LEVEL)]
        if not some or (not is_score and name == RUN_LEVEL):
            continue
        for level in LEVELS:
            alarms = np.array([_is_alarm(case, is_score, level) for case in some])
            low, high = _interval(some, alarms, seed)
            points.append(
                {
                    "detector": detector,
                    "series": name,
                    "level": level,
                    "measured": float(alarms.mean()),
                    "low": low,
                    "high": high,
                    "cases": len(some),
                }
            )
    return points


def _is_alarm(case: Case, is_score: bool, level: float) -> bool:
    if is_score:
        return is_anomalous(case.score, omega_of_level(level))
    known = case.score.history_distances
    return (1 + int((known >= case.score.distance).sum())) / (len(known) + 1) <= level


def _interval(cases: Sequence[Case], alarms: np.ndarray, seed: int) -> tuple[float, float]:
    """Bootstrap over runs: the repeats of one run are not independent."""
    codes: dict[tuple[str, str], int] = {}
    index = np.array([codes.setdefault((case.app, case.run_id), len(codes)) for case in cases])
    return rate_interval(index, alarms, seed=seed)


def plot_reliability(results: Sequence[dict[str, Any]], path: Path) -> None:
    """A picture of the pooled curves of one or several results of `evaluate`, PNG, SVG or PDF by the file's suffix."""
    figure = figures.blank(5.2, 4.4, dpi=110)
    axes = figure.add_subplot()
    axes.plot([0, 0.5], [0, 0.5], color="0.6", linewidth=1, linestyle="--", label="as promised")
    colours = iter(["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"])
    for result in results:
        for detector in sorted({point["detector"] for point in result["reliability"]}):
            points = [
                point for point in result["reliability"] if point["detector"] == detector and point["series"] == "all"
            ]
            level = [point["level"] for point in points]
            colour = next(colours)
            label = f"{detector}, {result['dataset']}"
            axes.plot(level, [point["measured"] for point in points], color=colour, marker="o", ms=3, label=label)
            axes.fill_between(
                level, [point["low"] for point in points], [point["high"] for point in points], color=colour, alpha=0.15
            )
    axes.set(xlabel="nominal false-alarm rate", ylabel="measured on normal runs", xlim=(0, 0.5), ylim=(0, 0.8))
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, loc="upper left", frameon=False)
    figures.write(figure, path)
