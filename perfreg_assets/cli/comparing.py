"""`perfreg compare`: two runs, folders or versions beside each other, without any history."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfreg_assets import terminal
from perfreg_assets.cli import differences
from perfreg_assets.cli.comparison_formats import COMPARISON_FORMATS, series_left_out
from perfreg_assets.cli.given import PATTERN
from perfreg_assets.cli.reading import NOTHING_JUDGED, SOME_ANOMALOUS
from perfreg_assets.cli.root import command
from perfreg_assets.named_files import write_named
from perfreg_assets.reports.grown_words import GROWN_WORDS
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from perfreg_assets.methods.side_comparison import Courses, SeriesDifference, SidesCompared
    from perfreg_assets.methods.side_growth import EntityDifference
    from perfreg_assets.model.side_growth import Grown
    from perfreg_assets.model.sides import Side

_CSV = (
    *("series", "unit", "mean_a", "mean_b", "difference", "low", "high", "p_value", "p_holm"),
    *("growth_a", "growth_b", "growth_difference", "growth_low", "growth_high", "growth_p_value", "growth_p_holm"),
    *("detectable", "growth_detectable", "basis", "runs_a", "runs_b", "is_judged", "state"),
    *("mean_state", "growth_state", "reason"),
)
_GROWN_SHOWN = 5
_DRAWN_MAX = 6


@command(
    "compare", example="perfreg compare before/ after/ --app com.rig.shop --html difference.html", begins_anew=True
)
@click.argument("a", type=PATTERN)
@click.argument("b", type=PATTERN)
@click.option(
    "--app",
    type=PATTERN,
    help="Application id; default: as run.json says, else the likeliest process of the first trace.",
)
@click.option("--scenario", help="Of versions: only runs of this scenario.")
@click.option("--pattern", help="Which files of folders are traces, as in a shell: 'iter*.pb'.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv", *COMPARISON_FORMATS]),
    default="table",
    show_default=True,
)
@click.option("--html", "page", type=click.Path(dir_okay=False, path_type=Path), help="Write a page there too.")
def compare(
    settings: Settings, a: str, b: str, app: str | None, scenario: str | None, pattern: str | None, form: str,
    page: Path | None,
) -> None:  # fmt: skip
    """Sets B beside A: per series both means, their difference with its 95 % interval, and which threads, slices and
    call stacks take more. A and B are traces, run folders or folders of them (then no warehouse is needed), or run ids
    or versions of the warehouse.

    With three runs or more on each side there is a verdict, and what it would not have seen. Exit status 0: nothing is
    worse in B; 3: something is; 4: too few runs for a verdict; 1: nothing could be compared.
    """
    from perfreg_assets.cli.comparison_sides import side_of
    from perfreg_assets.model.sides import left_out, on_both, other_load

    are_files = [Path(name.strip()).exists() for name in (a, b)]
    if scenario is not None and all(are_files):
        raise ValueError(
            "--scenario chooses runs of a version in the warehouse, and both sides are files; leave it out"
        )
    if pattern is not None and not any(are_files):
        raise ValueError("--pattern chooses files of folders, and neither side is one; leave it out")
    settings = _in_force(settings)
    with terminal.progress("compare") as show:
        show(f"reading {a}")
        first, app = side_of(settings, a, app, scenario, pattern)
        show(f"reading {b}")
        second, _ = side_of(settings, b, app, scenario, pattern)
    series_excluded = [asdict(one) for one in left_out(first, second)]
    for key, side in (("a", first), ("b", second)):
        for run, reason in side.excluded:
            terminal.note(f"{side.name}: {run} is left out: {reason}")
        for sentence in series_left_out(series_excluded, key):
            terminal.note(f"{side.name}: {sentence}")
    if differing := other_load(first, second):
        terminal.note(
            f"only one side was recorded with {', '.join(sorted(differing))}, which changes the load by itself"
        )
    told, found, courses = _compared(first, second, settings, series_excluded)
    if same := on_both(first, second):
        terminal.note(f"{len(same)} of the runs are on both sides and hide what differs: {', '.join(same)}")
    if page is not None:
        write_named(page, _page(told, courses, settings))
        terminal.note(f"page       {page}")
    _show(told, form)
    if found.verdict == "anomalous":
        sys.exit(SOME_ANOMALOUS)
    if found.verdict == "not_enough_runs":
        sys.exit(NOTHING_JUDGED)


def page_of_runs(settings: Settings, a: str, b: str, app: str | None) -> str:
    """The page that sets B beside A, each a run or a version of the warehouse; nothing else is opened by these names.

    Raises:
        Rejected: RUN_UNKNOWN, APP_UNKNOWN, VERSION_UNKNOWN, COMPARISON_AMBIGUOUS, NOTHING_TO_COMPARE.
    """
    from perfreg_assets.cli.comparison_sides import side_of_warehouse
    from perfreg_assets.model.sides import left_out

    settings = _in_force(settings)
    first, app = side_of_warehouse(settings, a, app, None, opens_traces=False)
    second, _ = side_of_warehouse(settings, b, app, None, opens_traces=False)
    series_excluded = [asdict(one) for one in left_out(first, second)]
    told, _, courses = _compared(first, second, settings, series_excluded)
    return _page(told, courses, settings, is_served=True)


def _compared(
    first: Side, second: Side, settings: Settings, series_excluded: list[dict[str, Any]]
) -> tuple[dict[str, Any], SidesCompared, dict[str, Courses]]:
    """What is told of both sides, what was found, and the courses of their series.

    Raises:
        Rejected: NOTHING_TO_COMPARE.
    """
    from perfreg_assets.methods.side_comparison import compare_sides
    from perfreg_assets.model.side_growth import what_grew
    from perfreg_assets.model.sides import courses_of, on_both
    from perfreg_assets.reasons import Reason, Rejected

    for side in (first, second):
        if not side.runs:
            raise Rejected(Reason.NOTHING_TO_COMPARE, f"no run of {side.name} is whole")
    if len(on_both(first, second)) == len(second.runs) == len(first.runs):
        raise Rejected(Reason.NOTHING_TO_COMPARE, f"{first.name} and {second.name} are the same runs")
    courses = courses_of(first, second, settings)
    found = compare_sides(courses)
    if not found.series:
        raise Rejected(Reason.NOTHING_TO_COMPARE, "no series is on both sides")
    return _told(first, second, found, what_grew(first, second), series_excluded), found, courses


def _in_force(settings: Settings) -> Settings:
    """Interval and judged series as the warehouse has them, where there is one."""
    from perfreg_assets.warehouse import settings_table
    from perfreg_assets.warehouse.connection import Warehouse

    warehouse = Warehouse.of(settings)
    if not warehouse.published.is_file():
        return settings
    with warehouse.reading_caught_up() as reader:
        return settings_table.in_force(reader, settings)


def _told(
    first: Side, second: Side, found: SidesCompared, grown: Sequence[Grown], series_excluded: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "a": first.name,
        "b": second.name,
        "runs_a": [run.label for run in first.runs],
        "runs_b": [run.label for run in second.runs],
        "verdict": found.verdict,
        "explanation": _explanation(found),
        "level": found.level,
        "series": [_row(one) for one in found.series],
        **{one.source: [_grown_row(one.source, row) for row in one.rows] for one in grown},
        "sources": [
            {name: getattr(one, name) for name in ("source", "state", "reason", "runs_a", "runs_b")} for one in grown
        ],
        "excluded": [
            {"side": key, "run": run, "reason": reason}
            for key, side in (("a", first), ("b", second))
            for run, reason in side.excluded
        ],
        "series_excluded": series_excluded,
    }


def _row(one: SeriesDifference) -> dict[str, Any]:
    """JSON has no NaN."""
    values = {name: getattr(one, name) for name in _CSV if name != "reason"}
    row = {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in values.items()}
    return row | {"reason": _unjudged(one)}


def _unjudged(one: SeriesDifference) -> str | None:
    """Why a series has no verdict, in words; None where it has one."""
    from perfreg_assets.methods.side_comparison import RUNS_MINIMUM

    if one.state != "not_enough_runs":
        return None
    if not one.is_judged:
        return "not in judged_series"
    if min(one.runs_a, one.runs_b) < RUNS_MINIMUM:
        return f"fewer than {RUNS_MINIMUM} runs on a side"
    return "its runs do not vary"


def _grown_row(source: str, row: EntityDifference) -> dict[str, Any]:
    """A thread, a slice by its name, or a call stack by its innermost function and its path from the outermost on."""
    entity = row.entity
    told: dict[str, Any] = {"process": entity.process, "thread": entity.thread}
    if source != "threads":
        told["name"] = entity.name
    if source == "stacks":
        told["path"] = list(entity.path)
    numbers = {name: getattr(row, name) for name in ("mean_a", "mean_b", "difference", "low", "high", "p_value")}
    return told | {name: None if math.isnan(value) else value for name, value in numbers.items()}


def _explanation(found: SidesCompared) -> str:
    from perfreg_assets.methods.side_comparison import RUNS_MINIMUM

    judged = [one for one in found.series if one.is_judged]
    if found.verdict == "not_enough_runs":
        sides = f"{max((one.runs_a for one in judged), default=0)} and {max((one.runs_b for one in judged), default=0)}"
        return f"No verdict: that needs {RUNS_MINIMUM} runs on each side that vary, there are {sides}."
    named = [f"{one.series} {_why(one, found.level)}" for one in judged if one.state == found.verdict]
    level = f"false alarms at most {found.level:.0%} of comparisons"
    if found.verdict == "normal":
        noise = f"No difference beyond the noise of the runs: {', '.join(one.series for one in judged)} ({level})."
        return f"{noise}{_would_show(judged)}"
    words = {"anomalous": "Worse in B", "improved": "Better in B", "changed": "Different in B"}
    return f"{words[found.verdict]}: {', '.join(named)} ({level})."


def _would_show(judged: Sequence[SeriesDifference]) -> str:
    """What "normal" is worth, as a sentence: what so few runs with this noise would have shown."""
    from perfreg_assets.methods.side_comparison import POWER

    told = [f"{one.series} by {_size(one)}" for one in judged if not math.isnan(one.detectable)]
    told += [
        f"growth of {one.series} by {differences.quantity(one.growth_detectable, one.unit)} per minute"
        for one in judged
        if not math.isnan(one.growth_detectable)
    ]
    words = f" {POWER * 10:.0f} of 10 such comparisons would find a change of "
    return f"{words}{', of '.join(told)}; smaller ones mostly stay unseen." if told else ""


def _size(one: SeriesDifference) -> str:
    return differences.share(one.detectable, one.mean_a) or differences.quantity(one.detectable, one.unit)


def _why(one: SeriesDifference, level: float) -> str:
    """What differs: the mean, the growth within the runs, or both. A p-value that is NaN is below no level."""
    grows = f"grows by {differences.quantity(one.growth_b, one.unit)} per minute instead of "
    grows += differences.quantity(one.growth_a, one.unit)
    told = ((_change(one), one.p_holm <= level), (grows, one.growth_p_holm <= level))
    return " and ".join(words for words, does_differ in told if does_differ)


def _change(one: SeriesDifference) -> str:
    return f"{one.difference / one.mean_a:+.1%}" if one.mean_a else differences.signed(one.difference, one.unit)


def _show(told: dict[str, Any], form: str) -> None:
    if form == "json":
        terminal.show_object(told)
    elif form == "csv":
        sys.stdout.write(terminal.as_csv(told["series"], _CSV))
    elif form in COMPARISON_FORMATS:
        sys.stdout.write(terminal.printable(COMPARISON_FORMATS[form](told)))
    else:
        _show_table(told)


def _show_table(told: dict[str, Any]) -> None:
    shown = [row for row in told["series"] if row["is_judged"] or row["series"].endswith("_app")]
    terminal.table(
        [
            {
                "series": row["series"],
                "A": differences.quantity(row["mean_a"], row["unit"]),
                "B": differences.quantity(row["mean_b"], row["unit"]),
                "change": f"{row['difference'] / row['mean_a']:+.1%}" if row["mean_a"] else "–",
                "difference": differences.signed(row["difference"], row["unit"]),
                "interval": differences.interval(row["low"], row["high"], row["unit"]),
                "p": "–" if row["p_value"] is None else f"{row['p_value']:.2g}",
                "would show": _detectable_cell(row),
                "rests on": f"{row['runs_a']} and {row['runs_b']} runs" if row["basis"] == "runs" else row["basis"],
                "state": row["state"] if row["reason"] is None else f"not judged: {row['reason']}",
            }
            for row in shown
        ],
        ("series", "A", "B", "change", "difference", "interval", "p", "would show", "rests on", "state"),
    )  # fmt: skip
    growing = [row for row in shown if row["growth_difference"] is not None]
    if growing:
        terminal.say()
        terminal.table(
            [_growth_row(row) for row in growing], ("grows per minute", "A", "B", "difference", "interval", "p")
        )
    for source in told["sources"]:
        terminal.say()
        _show_grown(source, told[source["source"]])
    terminal.say()
    terminal.say(told["explanation"])


def _detectable_cell(row: dict[str, Any]) -> str:
    if row["detectable"] is None:
        return "–"
    told = differences.share(row["detectable"], row["mean_a"])
    return told or differences.quantity(row["detectable"], row["unit"])


def _show_grown(source: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    words = GROWN_WORDS[source["source"]]
    if source["state"] != "compared":
        terminal.say(f"{words.title}: not compared ({source['state']}): {source['reason']}.")
    elif not rows:
        terminal.say(f"{words.title}: none.")
    else:
        names = ("process", "thread", *(["name"] if "name" in rows[0] else []))
        terminal.table(
            [
                {words.entity if name == names[-1] else name: row[name] or "–" for name in names} | _grown_cells(row)
                for row in rows[:_GROWN_SHOWN]
            ],
            (*names[:-1], words.entity, "A", "B", "more", "interval", "p"),
        )


def _grown_cells(row: dict[str, Any]) -> dict[str, str]:
    return {
        "A": f"{row['mean_a']:.4f}",
        "B": f"{row['mean_b']:.4f}",
        "more": f"{row['difference']:+.4f}",
        "interval": "–" if row["low"] is None else f"{row['low']:+.4f} to {row['high']:+.4f}",
        "p": "–" if row["p_value"] is None else f"{row['p_value']:.2g}",
    }


def _growth_row(row: dict[str, Any]) -> dict[str, str]:
    return {
        "grows per minute": row["series"],
        "A": differences.quantity(row["growth_a"], row["unit"]),
        "B": differences.quantity(row["growth_b"], row["unit"]),
        "difference": differences.signed(row["growth_difference"], row["unit"]),
        "interval": differences.interval(row["growth_low"], row["growth_high"], row["unit"]),
        "p": "–" if row["growth_p_value"] is None else f"{row['growth_p_value']:.2g}",
    }


def _page(told: dict[str, Any], courses: dict[str, Courses], settings: Settings, *, is_served: bool = False) -> str:
    from perfreg_assets.model.sides import mean_course
    from perfreg_assets.reports.comparison_page import Course, render_comparison_page

    drawn = [
        Course(name, one.unit, settings.interval_s, mean_course(one.a), mean_course(one.b))
        for name, one in courses.items()
        if one.is_judged
    ][:_DRAWN_MAX]
    return render_comparison_page(told, drawn, is_served=is_served)
