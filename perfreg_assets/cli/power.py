"""`perfreg power`: what would have been caught."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from perfreg_assets import terminal
from perfreg_assets.advance import watched
from perfreg_assets.cli.given import PATTERN, PICTURE
from perfreg_assets.cli.root import command
from perfreg_assets.how_many import how_many
from perfreg_assets.settings import Settings

COLUMNS = ("kind", "unit", "size", "repeats", "share", "low", "high", "found", "cases")
USUAL, SURE = 0.8, 0.9


@command("power", example="perfreg power --app com.rig.notes", begins_anew=True)
@click.option("--app", type=PATTERN, required=True, help="The application id.")
@click.option("--onsets", type=click.IntRange(1), default=2, show_default=True, help="Of each injection, per run.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@click.option("--picture", type=PICTURE, help="The curves as PNG, SVG or PDF.")
def power(settings: Settings, app: str, onsets: int, seed: int, form: str, picture: Path | None) -> None:
    """Injects leaks and extra load of rising size into the app's own normal runs and says which of them the rule in
    force finds, each run beside its own history: how small a regression you would see, and with how many runs of a
    version. The result is kept in marts.detection_power. Exit status: 0 it was measured, other: an error, such as too
    few normal runs with a verdict."""
    from perfreg_assets.methods.jit import compilation_notice
    from perfreg_assets.model import detection_power
    from perfreg_assets.reports.power_picture import draw
    from perfreg_assets.warehouse import evaluations
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.named import require_selection

    warehouse = Warehouse.of(settings)
    with terminal.progress("power") as show, compilation_notice(show), watched(show):
        with warehouse.reading_caught_up() as reader:
            named = require_selection(reader, app, None)[0] or app
            told = detection_power.measure(reader, settings, named, onsets=onsets, seed=seed)
        with warehouse.writing() as writer:
            evaluations.add(writer, told)
    if picture is not None:
        draw(told, picture)
    if form == "json":
        terminal.show_object(told)
    elif form == "csv":
        terminal.show(told["rows"], COLUMNS, form)
    else:
        _tell(told)


def _tell(told: Mapping[str, Any]) -> None:
    smallest, largest = told["history_sizes"]
    history = f"{smallest}" if smallest == largest else f"{smallest} to {largest}"
    terminal.say(
        f"{told['dataset']}: {told['runs']} normal runs, each beside {history} comparable ones, by {told['detector']} "
        f"at ω = {told['omega']:g}"
    )
    for sentence in sentences(told):
        terminal.say(sentence)
    single = [row for row in told["rows"] if row["repeats"] == 1]
    shown = [{**row, "found in": f"{row['share']:.0%}"} for row in single]
    terminal.table(shown, ("kind", "size", "unit", "found in", "cases"))
    for kind, why in told["missing"].items():
        terminal.note(f"{kind}: not tried, {why}")
    few = told["few_versions"]
    for repeats, why in dict.fromkeys((one["repeats"], one["why"]) for one in few):
        kinds = ", ".join(one["kind"] for one in few if (one["repeats"], one["why"]) == (repeats, why))
        terminal.note(f"versions of {repeats} runs ({kinds}): not tried, {why}")


def sentences(told: Mapping[str, Any]) -> list[str]:
    """Per kind how small a regression is found in 8 and in 9 of 10 runs, and by versions of several runs; with the
    number of cases that this is told by, which may be fewer than ten."""
    found = []
    for kind in dict.fromkeys(row["kind"] for row in told["rows"]):
        rows = [row for row in told["rows"] if row["kind"] == kind]
        parts = []
        for repeats in dict.fromkeys(row["repeats"] for row in rows):
            of = "runs" if repeats == 1 else f"versions of {repeats} runs"
            some = [row for row in rows if row["repeats"] == repeats]
            limits = {_smallest(some, share): share for share in (USUAL, SURE)}  # of one size the surer
            sizes = [
                f"from {size:g} {rows[0]['unit']} in {share * 10:.0f} of 10" for size, share in limits.items() if size
            ]
            cases = how_many(some[0]["cases"], "case")  # of all sizes the same
            parts.append(f"{' and '.join(sizes) or 'no size tried in 8 of 10'} {of} ({cases})")
        found.append(f"{kind}: {'; '.join(parts)}")
    return found


def _smallest(rows: Sequence[Mapping[str, Any]], share: float) -> float | None:
    """The smallest size from which on every larger one is found as often."""
    size = None
    for row in sorted(rows, key=lambda row: -row["size"]):
        if row["share"] < share:
            break
        size = row["size"]
    return size
