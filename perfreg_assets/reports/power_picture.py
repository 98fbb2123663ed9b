"""What share of regressions is found, by their size: a curve per kind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perfreg_assets import figures

_COLOURS = ("#0072b2", "#d55e00", "#009e73")
_MARKS = ("o", "s", "^")


def draw(told: Mapping[str, Any], path: Path) -> None:
    """A picture of a result of `model.detection_power`, PNG, SVG or PDF by the file's suffix."""
    kinds = list(dict.fromkeys(row["kind"] for row in told["rows"]))
    figure = figures.blank(3.1 * max(1, len(kinds)), 3.4, dpi=110)
    panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    for axes, kind in zip(panels, kinds, strict=True):
        rows = [row for row in told["rows"] if row["kind"] == kind]
        for place, repeats in enumerate(dict.fromkeys(row["repeats"] for row in rows)):
            some = [row for row in rows if row["repeats"] == repeats]
            sizes = [row["size"] for row in some]
            style = {"color": _COLOURS[place], "marker": _MARKS[place], "ms": 4}
            label = "a run" if repeats == 1 else f"a version of {repeats} runs"
            axes.plot(sizes, [row["share"] for row in some], label=label, **style)
            low, high = ([row[side] for row in some] for side in ("low", "high"))
            axes.fill_between(sizes, low, high, color=_COLOURS[place], alpha=0.12)
        axes.axhline(0.9, color="0.6", linewidth=1, linestyle="--")
        axes.set(title=kind, xlabel=rows[0]["unit"], xscale="log", ylim=(-0.02, 1.02))
        axes.grid(alpha=0.25)
    panels[0].set_ylabel("share found")
    panels[0].legend(fontsize=8, loc="upper left", frameon=False)
    figure.suptitle(f"{told['dataset']}: what would have been caught", fontsize=11)
    figures.write(figure, path)
