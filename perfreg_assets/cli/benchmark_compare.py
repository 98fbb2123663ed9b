"""`perfreg bench compare`: two sides of benchmarks, without any history."""

from __future__ import annotations

import math
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfreg_assets import terminal
from perfreg_assets.cli.benchmarks import bench
from perfreg_assets.cli.given import ANY_TEXT
from perfreg_assets.cli.reading import NOTHING_JUDGED, SOME_ANOMALOUS
from perfreg_assets.cli.root import command
from perfreg_assets.how_many import how_many
from perfreg_assets.readable import readable_quantity
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from perfreg_assets.methods.benchmark_comparison import Comparison, Entry, Mean, Paired
    from perfreg_assets.warehouse.benchmark_flags import Flags


@command("compare", example="perfreg bench compare 1.4.0 1.5.0 --app com.rig.shop", group=bench, begins_anew=True)
@click.argument("a")
@click.argument("b")
@click.option("--app", help="Of which app; default: the only one.")
@click.option("--app-version", help="A and B are variants of this version, 32 and 64 say.")
@click.option("--variant", type=ANY_TEXT, help="Only results of this variant.")
@click.option("--device", help="Only results from this device.")
@click.option("--include-inadequate", is_flag=True, help="Results too that a warning keeps out of comparisons.")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def bench_compare(
    settings: Settings, a: str, b: str, app: str | None, app_version: str | None, variant: str | None,
    device: str | None, include_inadequate: bool, form: str,
) -> None:  # fmt: skip
    """Compares two files (or folders) of results, two versions, or two variants of a version: per benchmark, geometric
    means per area and overall, with intervals. B beside A: a ratio of 1.1 is 10 % more.

    Exit status 0: nothing is slower in B; 3: something is; 4: nothing tells the noise; 1: nothing was measured on both
    sides.
    """
    from perfreg_assets.methods.benchmark_comparison import compare
    from perfreg_assets.methods.benchmark_words import caveats

    first, second, change_minimum = _sides(settings, a, b, app, app_version, variant, device, include_inadequate)
    found = compare(first, second, change_minimum=change_minimum)
    if form == "json":
        sys.stdout.write(_comparison_json(found) + "\n")
    elif form == "csv":
        sys.stdout.write(terminal.as_csv([_test_row(found, one) for one in found.tests], _TEST_CSV))
        _note_left_out(found)
    else:
        _show_comparison(found)
    for caveat in caveats(found):
        terminal.note(caveat)
    if found.is_slower:
        sys.exit(SOME_ANOMALOUS)
    if not found.is_judged:
        sys.exit(NOTHING_JUDGED)


def _sides(
    settings: Settings, a: str, b: str, app: str | None, app_version: str | None, variant: str | None,
    device: str | None, include_inadequate: bool,
) -> tuple[list[Entry], list[Entry], float]:  # fmt: skip
    from perfreg_assets.benchmarks import sides
    from perfreg_assets.reasons import Reason, Rejected
    from perfreg_assets.warehouse import settings_table
    from perfreg_assets.warehouse.connection import Warehouse

    are_files = [Path(name).exists() for name in (a, b)]
    warehouse = Warehouse.of(settings)
    if all(are_files):
        minimum = settings.benchmark_change_minimum
        if warehouse.published.is_file():
            with warehouse.reading_caught_up() as reader:
                minimum = settings_table.in_force(reader, settings).benchmark_change_minimum
        both = [sides.of_files([Path(name)], with_inadequate=include_inadequate) for name in (a, b)]
        for file, same in (copy for side in both for copy in side.copies):
            terminal.note(f"{file} is left out: it is the same file as {same}, which counts once")
        for sha256 in both[0].files.keys() & both[1].files.keys():
            terminal.note(f"{both[1].files[sha256]} is on both sides and hides what differs")
        _note_flags(both[0].flags, both[1].flags)
        return both[0].entries, both[1].entries, minimum
    if any(are_files):
        name = b if are_files[0] else a
        what = f"{name} is neither a file nor a folder; give two of them, or import both and give their versions"
        raise Rejected(Reason.BENCHMARK_UNKNOWN, what)
    if not warehouse.published.is_file():
        what = f"{a} and {b} are no files, and versions cannot be looked up: {warehouse.published} does not exist"
        raise Rejected(Reason.WAREHOUSE_MISSING, what)
    if a == b:
        terminal.note(f"{a} is on both sides: that nothing differs says nothing")
    selection = sides.Selection(app, app_version, variant, device)
    with warehouse.reading_caught_up() as reader:
        minimum = settings_table.in_force(reader, settings).benchmark_change_minimum
        try:
            first, second = sides.of_warehouse(reader, (a, b), selection, with_inadequate=include_inadequate)
        except Rejected as rejected:
            raise Rejected(rejected.reason, f"{a} and {b} are no files; {rejected.detail}") from rejected
    _note_flags(first.flags, second.flags)
    return first.entries, second.entries, minimum


def _note_flags(a: Flags, b: Flags) -> None:
    from perfreg_assets.warehouse.benchmark_flags import told_other

    for line in told_other(a, b, ("A", "B")):
        terminal.note(line)


_TEST_CSV = (
    *("area", "benchmark", "unit", "score_a", "score_b", "ratio", "low", "high", "p_value", "p_holm", "p_rank"),
    *("launches_a", "launches_b", "basis", "modified_z", "is_implausible", "verdict"),
)


def _number(value: float | None) -> float | None:
    """JSON has no NaN."""
    return None if value is None or math.isnan(value) else value


def _test_row(found: Comparison, one: Paired) -> dict[str, Any]:
    low, high = found.interval(one.change)
    return {
        "area": one.area,
        "benchmark": one.key,
        "unit": one.unit,
        "score_a": one.score_a,
        "score_b": one.score_b,
        "ratio": found.ratio(one.change.log_ratio),
        "low": _number(low),
        "high": _number(high),
        "p_value": _number(one.change.p_value),
        "p_holm": _number(one.p_holm),
        "p_rank": _number(one.p_rank),
        "launches_a": one.launches_a,
        "launches_b": one.launches_b,
        "basis": one.change.basis,
        "modified_z": one.modified_z,
        "is_implausible": one.is_implausible,
        "verdict": one.verdict,
    }


def _mean_row(found: Comparison, one: Mean) -> dict[str, Any]:
    low, high = found.interval(one.change)
    return {
        "area": one.area,
        "ratio": found.ratio(one.change.log_ratio),
        "low": _number(low),
        "high": _number(high),
        "pairs": one.pairs,
        "mean_a": one.mean_a,
        "mean_b": one.mean_b,
        "basis": one.change.basis,
        "verdict": one.verdict,
    }


def _comparison_json(found: Comparison) -> str:
    import json

    plausible = {one.area: one for one in found.plausible_areas}
    told = {
        "areas": [
            {**_mean_row(found, one),
             "plausible": _mean_row(found, plausible[one.area]) if one.area in plausible else None}
            for one in found.areas
        ],
        "overall": {**_mean_row(found, found.overall), "plausible": _mean_row(found, found.plausible_overall)},
        "over_tests": {**_mean_row(found, found.over_tests), "plausible": _mean_row(found, found.plausible_over_tests)},
        "excluded": [{"benchmark": name, "reason": reason} for name, reason in found.excluded],
        "files_excluded": [{"benchmark": name, "reason": reason} for name, reason in found.files_excluded],
        "implausible": [one.key for one in found.tests if one.is_implausible],
        "tests": [_test_row(found, one) for one in found.tests],
        "worse": found.worse,
        "is_slower": found.is_slower,
    }  # fmt: skip
    return json.dumps(told, allow_nan=False, ensure_ascii=False, indent=1)


def _show_comparison(found: Comparison) -> None:
    from perfreg_assets.methods.benchmark_words import told_change, told_p, told_ratio

    def interval(row: dict[str, Any]) -> str:
        return "–" if row["low"] is None else f"{told_ratio(row['low'])} to {told_ratio(row['high'])}"

    tests = [
        {
            "area": one.area,
            "benchmark": one.key,
            "A": readable_quantity(one.score_a, one.unit),
            "B": readable_quantity(one.score_b, one.unit),
            "ratio": told_ratio(found.ratio(one.change.log_ratio)),
            "interval": interval(_test_row(found, one)),
            "p": told_p(one.p_holm),
            "verdict": f"{one.verdict}{' (implausible)' if one.is_implausible else ''}",
        }
        for one in found.tests
    ]
    terminal.table(tests, ("area", "benchmark", "A", "B", "ratio", "interval", "p", "verdict"))
    terminal.say()
    implausible = [one.key for one in found.tests if one.is_implausible]
    means = [(one.area, one) for one in found.areas] + [("all areas", found.overall), ("all tests", found.over_tests)]
    if implausible:
        touched = {one.area for one in found.tests if one.is_implausible}
        means += [(f"{one.area}, plausible", one) for one in found.plausible_areas if one.area in touched]
        means += [
            ("all areas, plausible", found.plausible_overall),
            ("all tests, plausible", found.plausible_over_tests),
        ]
    rows = [
        {
            "geometric mean": name,
            "pairs": one.pairs,
            "ratio": told_ratio(found.ratio(one.change.log_ratio)),
            "change": told_change(found.ratio(one.change.log_ratio)),
            "interval": interval(_mean_row(found, one)),
            "verdict": one.verdict,
        }
        for name, one in means
    ]
    terminal.table(rows, ("geometric mean", "pairs", "ratio", "change", "interval", "verdict"))
    terminal.note(
        f"ratios are B / A of {'times: above 1 is slower' if found.worse == 'more' else 'speeds: above 1 is faster'}"
    )
    for name in implausible:
        terminal.note(f"implausible, far from all others: {name}")
    _note_left_out(found)


def _note_left_out(found: Comparison) -> None:
    """How many are in no mean, by why: JSON names each, in a table of tests they have no row."""
    reasons = Counter(reason for _, reason in found.excluded)
    for reason, count in reasons.most_common():
        terminal.note(f"{count} left out: {reason}")
    for reason, count in Counter(reason for _, reason in found.files_excluded).most_common():
        terminal.note(f"{how_many(count, 'file')} of a benchmark left out, others are adequate: {reason}")
