"""One still picture of benchmarks: geometric means by version, for places that run no script (Dagster's metadata)."""

from __future__ import annotations

from perfreg_assets import figures
from perfreg_assets.reports.benchmark_data import VERSIONS, family_view
from perfreg_assets.reports.colours import ALERT_COLOUR, HISTORY_COLOUR, RUN_COLOUR, TEXT_COLOUR
from perfreg_assets.warehouse import benchmarks as table
from perfreg_assets.warehouse.connection import Reader

AREAS = 8


def draw_means(reader: Reader, partition_key: str) -> bytes | None:
    """PNG of the areas' means over the versions of the family that the partition was measured in last; None where no
    version has a history.

    Each point is the geometric mean of the speeds over those of the results that each was compared with.
    """
    family = table.family_of(reader, partition_key)
    if family is None:
        return None
    view = family_view(family, table.levels(reader, family, versions=VERSIONS))
    drawn = {area: cells for area, cells in view.cells.items() if any(cell.change is not None for cell in cells)}
    if not drawn:
        return None
    figure = figures.blank(7.6, 2.8)
    axes = figure.subplots()
    axes.axhline(0, color=HISTORY_COLOUR, linewidth=1)
    for number, (area, cells) in enumerate(list(drawn.items())[:AREAS]):
        places = [place for place, cell in enumerate(cells) if cell.change is not None]
        changes = [100 * (cell.change or 0.0) for cell in cells if cell.change is not None]
        # A name may hold dollar signs, or begin with an underline: neither is markup here.
        label = area.replace("$", r"\$").lstrip("_")
        colour = RUN_COLOUR if len(drawn) == 1 else f"C{number}"
        axes.plot(places, changes, marker="o", markersize=3, linewidth=1.2, label=label, color=colour)
        alarms = [(place, 100 * (cell.change or 0.0)) for place, cell in enumerate(cells) if cell.anomalous]
        if alarms:
            axes.plot(*zip(*alarms, strict=True), "o", color=ALERT_COLOUR, zorder=3, markersize=6)
    axes.set_xticks(range(len(view.versions)))
    axes.set_xticklabels([one.replace("$", r"\$")[:14] for one in view.versions], rotation=45, ha="right", fontsize=7)
    axes.set_ylabel("speed against earlier, %", fontsize=8, color=TEXT_COLOUR)
    axes.tick_params(axis="y", labelsize=8)
    axes.legend(fontsize=7, loc="best", frameon=False)
    return figures.as_png(figure)
