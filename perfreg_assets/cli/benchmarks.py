"""`perfreg bench …`: results of benchmarks, imported, judged and compared."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfreg_assets import terminal
from perfreg_assets.cli.given import ANY_TEXT, MOMENT
from perfreg_assets.cli.reading import NOTHING_JUDGED, SOME_ANOMALOUS, tell_ahead
from perfreg_assets.cli.root import command, group
from perfreg_assets.how_many import how_many
from perfreg_assets.readable import readable, readable_quantity
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from perfreg_assets.warehouse.benchmarks import Measured

_VERDICT_COLUMNS = ("area", "benchmark", "score", "change", "state", "beside", "warnings")
_VERDICT_CSV = (
    *("benchmark_run_id", "app", "version_name", "device", "variant", "runner", "area", "benchmark", "params"),
    *("metric", "unit", "score", "score_change_ratio", "state", "distance", "threshold", "history_size", "warnings"),
)


@group("bench", example="perfreg bench suite my-suite")
def bench() -> None:
    """Results of benchmarks: imported from other tools, judged against earlier versions, compared."""


@command(
    "import", example="perfreg bench import results/ --app com.rig.shop --app-version 1.5.0 --device s1", group=bench
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--app", help="Whose results these are; default: as benchmark.json beside them says.")
@click.option("--app-version", help="Of which version; default: likewise.")
@click.option(
    "--variant",
    type=ANY_TEXT,
    help="What tells builds of a version apart, 32 and 64 say; results of others do not mix.",
)
@click.option("--device", help="Where it was measured; default: as the file says. Results of others do not mix.")
@click.option(
    "--started-at",
    type=MOMENT,
    help="When, as 2026-11-20T09:12:00Z; default: as the file says, else the file's own time.",
)
@click.option("--area", help="Area of all these benchmarks; default: their class, function or tool.")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def bench_import(
    settings: Settings, paths: tuple[Path, ...], app: str | None, app_version: str | None, variant: str | None,
    device: str | None, started_at: datetime | None, area: str | None, form: str,
) -> None:  # fmt: skip
    """Takes in results of Jetpack Benchmark, JMH, Google Benchmark or pyperf (JSON), and judges them against those of
    earlier versions. PATH is a file, or a folder of them, with a benchmark.json perhaps.

    Exit status 0: nothing is slower; 3: something is; 4: nothing could be judged; 1: nothing could be read.
    """
    from perfreg_assets.benchmarks.taking_in import Origin, take_in

    origin = Origin(
        app=app, version_name=app_version, variant=variant, device=device, area=area,
        started_at=started_at,
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
        rows = store(settings, found, show)
    show_verdicts(rows, form)


def store(settings: Settings, found: list[Measured], show: Callable[[str], None]) -> list[dict[str, Any]]:
    """Stores and judges what was measured, writes the pages; the verdicts."""
    from perfreg_assets.model import benchmarks as model
    from perfreg_assets.model.stopwatch import Stopwatch
    from perfreg_assets.reports.site import build_benchmark_pages
    from perfreg_assets.warehouse import benchmarks as table
    from perfreg_assets.warehouse.connection import Warehouse

    begin = time.perf_counter()
    warehouse = Warehouse.of(settings)
    with warehouse.writing() as writer:
        corrected = table.correct_starts(writer, found)
        new = table.add(writer, found)
    show("comparing with earlier results")
    measured = model.measure_due(warehouse, settings, Stopwatch())
    show("pages")
    with warehouse.reading() as reader:
        written = build_benchmark_pages(reader, settings.reports_dir, server=settings.reports_address)
        ids = list(dict.fromkeys(one.run.benchmark_run_id for one in found))
        rows = _verdict_rows(reader, ids)
        for file, other in table.under_other_flags(reader, new):
            terminal.note(
                f"{file} has benchmarks of {other} under other flags of the virtual machine; both count as launches of "
                "one version, --variant keeps them apart"
            )
        ahead = table.dated_in_future(reader, ids)
    tell_ahead(ahead)
    each = {one.run.benchmark_run_id: len(one.scores) for one in found}  # a file that is given twice is one
    told_corrected = f", the start of {len(corrected)} is corrected" if corrected else ""
    terminal.note(
        f"{len(new)} of {len(ids)} files are new{told_corrected}, {how_many(sum(each.values()), 'result')}, "
        f"{len(measured)} measured, {how_many(len(written), 'page')} written; "
        f"taking them in took {time.perf_counter() - begin:.1f} s"
    )
    return rows


def _verdict_rows(reader: Any, run_ids: list[str]) -> list[dict[str, Any]]:
    from perfreg_assets.warehouse import benchmarks as table

    caveats = table.warnings_of(reader, run_ids)
    return [
        {**row, "warnings": caveats.get((row["benchmark_run_id"], row["result_name"]), [])}
        for row in table.verdicts_of(reader, run_ids)
    ]


def show_verdicts(rows: list[dict[str, Any]], form: str, units: Mapping[str, str] | None = None) -> None:
    """The rows, their states counted on stderr, and the exit status that follows from them.

    Args:
        units: of time, per which the operations of a result are shown.
    """
    if form == "table":
        variants = {row["variant"] for row in rows}
        shown = [
            {
                "variant": row["variant"] or "–",
                "area": row["area"] or "–",
                "benchmark": row["result_name"],
                "score": told_score(row, (units or {}).get(row["result_name"], "s")),
                "change": f"{row['score_change_ratio']:+.1%}" if row["score_change_ratio"] is not None else "–",
                "state": row["state"],
                "beside": f"{row['history_size']} earlier" if row["history_size"] else "–",
                "warnings": ", ".join(row["warnings"]) or "–",
            }
            for row in rows
        ]
        terminal.table(shown, _VERDICT_COLUMNS if len(variants) < 2 else ("variant", *_VERDICT_COLUMNS))
    else:
        terminal.show(rows, _VERDICT_CSV, form)
    counts = Counter(row["state"] for row in rows)
    terminal.note(", ".join(f"{count} {state}" for state, count in sorted(counts.items())))
    if any(row["is_anomalous"] for row in rows):
        sys.exit(SOME_ANOMALOUS)
    if all(row["is_anomalous"] is None for row in rows):
        if rows:
            terminal.note(_why_none(rows))
        sys.exit(NOTHING_JUDGED)


def _why_none(rows: list[dict[str, Any]]) -> str:
    """What holds of most: of results that nothing is beside, how many earlier ones are needed."""
    (why, _), *others = Counter(row["explanation"] for row in rows).most_common()
    more = f" (and {how_many(len(others), 'other reason')})" if others else ""
    return f"nothing could be judged; {why}{more}"


def told_score(row: dict[str, Any], per: str = "s") -> str:
    """With its unit; operations per a unit of time."""
    from perfreg_assets.benchmarks.suite import UNITS

    if row["score"] is None:
        return "–"
    return (
        readable_quantity(row["score"], row["unit"])
        if per == "s"
        else f"{readable(row['score'] * UNITS[per])} ops/{per}"
    )
