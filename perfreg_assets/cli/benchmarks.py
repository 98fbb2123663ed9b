"""`perfreg bench …`: results of benchmarks, imported, judged and compared."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfreg_assets import terminal
from perfreg_assets.cli.root import command, main
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from perfreg_assets.benchmarks.suite import Suite
    from perfreg_assets.methods.benchmark_comparison import Comparison, Entry, Mean, Paired
    from perfreg_assets.warehouse.benchmarks import Measured

_NOT_JUDGED = ("not_enough_history", "inadequate", "invalid")
_VERDICT_COLUMNS = ("area", "benchmark", "score", "change", "state", "beside", "warnings")
_VERDICT_CSV = (
    *("benchmark_run_id", "app", "version_name", "device", "variant", "runner", "area", "benchmark", "params"),
    *("metric", "unit", "score", "score_change_ratio", "state", "distance", "threshold", "history_size", "warnings"),
)


@main.group("bench")
def bench() -> None:
    """Results of benchmarks: imported from other tools, judged against earlier versions, compared."""


@command(
    "import", example="perfreg bench import results/ --app com.rig.shop --app-version 1.5.0 --device s1", group=bench
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--app", help="Whose results these are; default: as benchmark.json beside them says.")
@click.option("--app-version", help="Of which version; default: likewise.")
@click.option("--variant", help="What tells builds of a version apart, 32 and 64 say; results of others do not mix.")
@click.option("--device", help="Where it was measured; default: as the file says. Results of others do not mix.")
@click.option(
    "--started-at", help="When, as 2026-11-20T09:12:00Z; default: as the file says, else the file's own time."
)
@click.option("--area", help="Area of all these benchmarks; default: their class, function or tool.")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def bench_import(
    settings: Settings, paths: tuple[Path, ...], app: str | None, app_version: str | None, variant: str | None,
    device: str | None, started_at: str | None, area: str | None, form: str,
) -> None:  # fmt: skip
    """Takes in results of Jetpack Benchmark, JMH, Google Benchmark or pyperf (JSON), and judges them against those of
    earlier versions. PATH is a file, or a folder of them, with a benchmark.json perhaps.

    Exit status 0: nothing is slower; 3: something is; 4: nothing could be judged; 1: nothing could be read.
    """
    from perfreg_assets.benchmarks.taking_in import Origin, moment, take_in

    origin = Origin(
        app=app, version_name=app_version, variant=variant, device=device, area=area,
        started_at=moment(started_at, "--started-at") if started_at else None,
    )  # fmt: skip
    with terminal.progress("bench") as show:
        show("reading results")
        taken = take_in(paths, origin)
        for one in taken:
            if one.rejected is not None:
                terminal.fail(f"{one.rejected.reason.code}: {one.rejected}")
            for invalid in one.invalid:
                terminal.note(f"{one.path.name}: {invalid.name}: {invalid.reason.code}: {invalid.detail}")
        found = [one.measured for one in taken if one.measured is not None]
        if not found:
            sys.exit(1)
        rows = _store(settings, found, show)
    _show_verdicts(rows, form)


def _store(settings: Settings, found: list[Measured], show: Callable[[str], None]) -> list[dict[str, Any]]:
    """Stores and judges what was measured, writes the pages; the verdicts."""
    from perfreg_assets.model import benchmarks as model
    from perfreg_assets.model.stopwatch import Stopwatch
    from perfreg_assets.reports.site import build_benchmark_pages
    from perfreg_assets.warehouse import benchmarks as table
    from perfreg_assets.warehouse.connection import Warehouse

    begin = time.perf_counter()
    warehouse = Warehouse.of(settings)
    with warehouse.writing() as writer:
        new = table.add(writer, found)
    show("comparing with earlier results")
    measured = model.measure_due(warehouse, settings, Stopwatch())
    show("pages")
    with warehouse.reading() as reader:
        written = build_benchmark_pages(reader, settings.reports_dir, server=settings.reports_address)
    ids = list(dict.fromkeys(one.run.benchmark_run_id for one in found))
    terminal.note(
        f"{len(new)} of {len(ids)} files are new, {sum(len(one.scores) for one in found)} results, {len(measured)} "
        f"measured, {len(written)} pages written, in {time.perf_counter() - begin:.1f} s"
    )
    with warehouse.reading() as reader:
        return _verdict_rows(reader, ids)


def _verdict_rows(reader: Any, run_ids: list[str]) -> list[dict[str, Any]]:
    from perfreg_assets.warehouse import benchmarks as table

    caveats = table.warnings_of(reader, run_ids)
    return [
        {**row, "warnings": caveats.get((row["benchmark_run_id"], row["result_name"]), [])}
        for row in table.verdicts_of(reader, run_ids)
    ]


def _show_verdicts(rows: list[dict[str, Any]], form: str, units: Mapping[str, str] | None = None) -> None:
    """The rows, their states counted on stderr, and the exit status that follows from them.

    Args:
        units: of time, per which the operations of a result are shown.
    """

    if form == "table":
        shown = [
            {
                "area": row["area"] or "–",
                "benchmark": row["result_name"],
                "score": _told(row, (units or {}).get(row["result_name"], "s")),
                "change": f"{row['score_change_ratio']:+.1%}" if row["score_change_ratio"] is not None else "–",
                "state": row["state"],
                "beside": f"{row['history_size']} earlier" if row["history_size"] else "–",
                "warnings": ", ".join(row["warnings"]) or "–",
            }
            for row in rows
        ]
        terminal.table(shown, _VERDICT_COLUMNS)
    else:
        terminal.show(rows, _VERDICT_CSV, form)
    counts = Counter(row["state"] for row in rows)
    terminal.note(", ".join(f"{count} {state}" for state, count in sorted(counts.items())))
    if counts["anomalous"]:
        sys.exit(3)
    if all(row["state"] in _NOT_JUDGED for row in rows):
        sys.exit(4)


def _told(row: dict[str, Any], per: str) -> str:
    from perfreg_assets.benchmarks.suite import UNITS
    from perfreg_assets.methods.explanation import readable, readable_quantity

    if row["score"] is None:
        return "–"
    return (
        readable_quantity(row["score"], row["unit"])
        if per == "s"
        else f"{readable(row['score'] * UNITS[per])} ops/{per}"
    )


# ---- run -----------------------------------------------------------------------------------------
@command("run", example="perfreg bench run suite.xml --app com.rig.shop --app-version 1.5.0", group=bench)
@click.argument("suite", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--app", required=True, help="What is measured.")
@click.option("--app-version", required=True, help="Of which version.")
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="NAME[:OPTION=VALUE,…]",
    help="Repeatable: runs the suite with other options too, in turns (A B B A), each under its name.",
)
@click.option("--only", multiple=True, metavar="TEXT", help="Repeatable: only benchmarks whose name or area holds it.")
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="Repeatable: before the suite's own.")
@click.option("--device", help="Name of this machine in the results; default: its own.")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def bench_run(
    settings: Settings, suite: Path, app: str, app_version: str, variants: tuple[str, ...], only: tuple[str, ...],
    options: tuple[str, ...], device: str | None, form: str,
) -> None:  # fmt: skip
    """Runs a suite of benchmarks (XML or TOML, see docs/benchmarks.md) on this machine, and judges the results against
    those of earlier versions.

    Exit status as of `bench import`; a benchmark that fails is said, and the others go on.
    """
    from perfreg_assets.benchmarks.results import result_name
    from perfreg_assets.benchmarks.running import METRIC, run_suites
    from perfreg_assets.benchmarks.suite import read_suite
    from perfreg_assets.benchmarks.taking_in import Origin, measured_of

    given = _pairs(options, "--option")
    named: dict[str, dict[str, str]] = {}
    for text in variants or ("",):
        name, _, told = text.partition(":")
        named[name] = _pairs(tuple(told.split(",")) if told else (), "--variant")
    suites = [(name, _chosen(read_suite(suite, {**given, **own}), only)) for name, own in named.items()]
    with terminal.progress("bench") as show:
        files = run_suites(suites, progress=show)
        found = [
            measured_of(
                one,
                Origin(app=app, version_name=app_version, variant=name, device=device),
                written_at=one.started_at or datetime.now(UTC),
                suite_hash=suites[0][1].sha256,
            )
            for name, of_variant in files.items()
            for one in of_variant
        ]
        for of_variant in files.values():
            for one in of_variant:
                for bad in one.invalid:
                    terminal.fail(f"{bad.name}: {bad.reason.code}: {bad.detail}: {bad.reason.sentence}")
        rows = _store(settings, found, show)
    units = {
        result_name(one.name, one.options.told_params, METRIC): one.options.unit
        for _, chosen in suites
        for one in chosen.benchmarks
    }
    _show_verdicts(rows, form, units)


def _pairs(texts: tuple[str, ...], option: str) -> dict[str, str]:
    for text in texts:
        if "=" not in text:
            raise ValueError(f"{option}: {text!r} is no NAME=VALUE")
    return dict(text.split("=", 1) for text in texts)


def _chosen(suite: Suite, only: tuple[str, ...]) -> Suite:
    from dataclasses import replace

    kept = tuple(one for one in suite.benchmarks if not only or any(text in f"{one.area} {one.name}" for text in only))
    if not kept:
        areas = ", ".join(dict.fromkeys(one.area for one in suite.benchmarks))
        raise ValueError(f"--only {' '.join(only)}: no benchmark of {suite.path} is meant; its areas are {areas}")
    return replace(suite, benchmarks=kept)


# ---- compare -------------------------------------------------------------------------------------
@command("compare", example="perfreg bench compare 1.4.0 1.5.0 --app com.rig.shop", group=bench)
@click.argument("a")
@click.argument("b")
@click.option("--app", help="Of which app; default: the only one.")
@click.option("--app-version", help="A and B are variants of this version, 32 and 64 say.")
@click.option("--variant", help="Only results of this variant.")
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

    first, second, change_minimum = _sides(settings, a, b, app, app_version, variant, device, include_inadequate)
    found = compare(first, second, change_minimum=change_minimum)
    if form == "json":
        sys.stdout.write(_comparison_json(found) + "\n")
    elif form == "csv":
        sys.stdout.write(terminal.as_csv([_test_row(found, one) for one in found.tests], _TEST_CSV))
    else:
        _show_comparison(found)
    if found.has_single_launches:
        terminal.note("one launch: noise between launches is not in the intervals, so they are too narrow")
    if found.is_slower:
        sys.exit(3)
    if not found.is_judged:
        terminal.note("nothing tells the noise: measure more than once")
        sys.exit(4)


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
        first, second = (sides.of_files([Path(name)], with_inadequate=include_inadequate) for name in (a, b))
        return first, second, minimum
    if any(are_files):
        name = b if are_files[0] else a
        raise Rejected(Reason.BENCHMARK_UNKNOWN, f"{name} is no file, so it cannot be compared with one; import both")
    selection = sides.Selection(app, app_version, variant, device)
    with warehouse.reading_caught_up() as reader:
        minimum = settings_table.in_force(reader, settings).benchmark_change_minimum
        first, second = sides.of_warehouse(reader, (a, b), selection, with_inadequate=include_inadequate)
    return first, second, minimum


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
        "implausible": [one.key for one in found.tests if one.is_implausible],
        "tests": [_test_row(found, one) for one in found.tests],
        "worse": found.worse,
        "is_slower": found.is_slower,
    }  # fmt: skip
    return json.dumps(told, allow_nan=False, ensure_ascii=False, indent=1)


def _show_comparison(found: Comparison) -> None:
    from perfreg_assets.methods.explanation import readable_quantity

    def interval(row: dict[str, Any]) -> str:
        return "–" if row["low"] is None else f"{row['low']:.4f} to {row['high']:.4f}"

    tests = [
        {
            "area": one.area,
            "benchmark": one.key,
            "A": readable_quantity(one.score_a, one.unit),
            "B": readable_quantity(one.score_b, one.unit),
            "ratio": f"{found.ratio(one.change.log_ratio):.4f}",
            "interval": interval(_test_row(found, one)),
            "p": "–" if math.isnan(one.p_holm) else f"{one.p_holm:.2g}",
            "verdict": f"{one.verdict}{' (implausible)' if one.is_implausible else ''}",
        }
        for one in found.tests
    ]
    terminal.table(tests, ("area", "benchmark", "A", "B", "ratio", "interval", "p", "verdict"))
    terminal.say()
    implausible = [one.key for one in found.tests if one.is_implausible]
    means = [(one.area, one) for one in found.areas] + [("all areas", found.overall), ("all tests", found.over_tests)]
    if implausible:
        means += [
            ("all areas, plausible", found.plausible_overall),
            ("all tests, plausible", found.plausible_over_tests),
        ]
    rows = [
        {
            "geometric mean": name,
            "pairs": one.pairs,
            "ratio": f"{found.ratio(one.change.log_ratio):.4f}",
            "change": f"{found.ratio(one.change.log_ratio) - 1:+.2%}",
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
    reasons = Counter(reason for _, reason in found.excluded)
    for reason, count in reasons.most_common():
        terminal.note(f"{count} left out: {reason}")
