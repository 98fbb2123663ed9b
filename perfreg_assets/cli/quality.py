"""`perfreg evaluate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from perfreg_assets import terminal
from perfreg_assets.advance import counting
from perfreg_assets.cli.given import PICTURE
from perfreg_assets.cli.omega import OMEGA
from perfreg_assets.cli.root import command
from perfreg_assets.detection import EVALUATED_ONLY, detector_names
from perfreg_assets.named_files import write_named
from perfreg_assets.settings import Settings


@command(
    "evaluate",
    example="perfreg evaluate tests/data/evaluation/simulated_noise1.parquet --omega 0 0.5 1 1.5 --out result.json",
    begins_anew=True,
)
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option(
    "--protocol",
    type=click.Choice(["thesis", "aa", "chronological", "causes", "endurance", "benchmarks", "versions", "shifts"]),
    default="thesis",
    show_default=True,
)
@click.option("--repeats", type=click.IntRange(1), default=30, show_default=True, help="Histories drawn per app.")
@click.option("--history", type=click.IntRange(2), default=12, show_default=True, help="Runs drawn as history.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--omega", "omegas", type=OMEGA, multiple=True, help="One or several: --omega 0 0.5 1 1.5.")
@click.option(
    "--level", "levels", type=float, multiple=True, help="Nominal false-alarm levels of the default detector."
)
@click.option(
    "--detector",
    "detectors",
    type=click.Choice((*detector_names(), *EVALUATED_ONLY)),
    multiple=True,
    help="Repeatable; those that are not registered only with protocol shifts.",
)
@click.option("--localisation-repeats", type=click.IntRange(0), help="Repeats that are localised as well; 0: none.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The result as JSON.")
@click.option("--picture", type=PICTURE, help="The reliability curve as PNG, SVG or PDF.")
@click.option("--keep", is_flag=True, help="Store the result in the warehouse as well.")
def evaluate(
    settings: Settings, dataset: Path, out: Path | None, picture: Path | None, keep: bool, **options: Any
) -> None:
    """Measures quality on a labelled data set: the thesis' protocol, its printed tables beside ours.

    Protocol causes: how often the thread, service or method that a fault was injected into is named; DATASET is a
    folder of recorded runs with truth.json, or a file of spans (…_spans.parquet). Protocol endurance: what reduction of
    long traces keeps and misses; DATASET is `streams` (simulated) or a folder of recorded runs with truth.json.

    Protocol benchmarks: coverage of the intervals, false alarms of unchanged builds and what changes are found; DATASET
    is the word simulated, or a CSV of a recorded history (benchmark, version_name, score; in order of time).

    Protocol versions: false alarms and recall of verdicts on versions, by the number of their runs; DATASET is a
    labelled data set.

    Protocol shifts: false alarms and recall where normal runs have bursts, another device or drift, or histories are
    short; DATASET is the word held-out, or developers: the made-up apps that constants were chosen by.
    """
    import json

    from perfreg_assets.evaluation import evaluate as evaluation
    from perfreg_assets.evaluation.reliability import plot_reliability
    from perfreg_assets.evaluation.show import print_tables
    from perfreg_assets.methods.jit import compilation_notice
    from perfreg_assets.unwritable import refused_where_unwritable
    from perfreg_assets.warehouse import evaluations
    from perfreg_assets.warehouse.connection import Warehouse

    for path in (out, picture):  # before the minutes that it takes
        if path is not None:
            with refused_where_unwritable(path.parent):
                path.parent.mkdir(parents=True, exist_ok=True)
    report = _report(options["protocol"])
    if report is not None:
        if keep or picture is not None:
            named = options["protocol"]
            raise ValueError(f"protocol {named} has no --picture and is not kept in the warehouse; use --out")
        chosen = {"detectors": options["detectors"]} if options["protocol"] == "shifts" else {}
        with terminal.progress("evaluate", lines=True) as show, compilation_notice():
            told = report.evaluate(
                dataset,
                settings=settings,
                history=options["history"],
                repeats=options["repeats"],
                seed=options["seed"],
                progress=counting(show),
                **chosen,
            )
        if out is not None:  # before what is shown, which may go nowhere: on a full disk, into a pipe that ended
            write_named(out, json.dumps(told, allow_nan=False, indent=1))
        report.print_report(told, sys.stdout)
        return
    given = {name: value for name, value in options.items() if value not in (None, ())}
    given.setdefault("omegas", tuple(sorted({*evaluation.OMEGAS, settings.omega})))
    with terminal.progress("evaluate", lines=True) as show, compilation_notice():
        result = evaluation.evaluate(dataset, settings=settings, progress=counting(show), **given)
    if out is not None:
        write_named(out, json.dumps(result, allow_nan=False, indent=1))
    if picture is not None:
        plot_reliability([result], picture)
    kept = None
    if keep:
        with Warehouse.of(settings).writing() as writer:
            kept = evaluations.add(writer, result)
    print_tables(result, sys.stdout)
    if kept is not None:
        terminal.say(f"kept as {kept}")


def _report(protocol: str) -> Any:
    """What measures by a protocol of its own, with `evaluate` and `print_report`; None: by the thesis' tables."""
    if protocol == "causes":
        from perfreg_assets.evaluation import cause_report

        return cause_report
    if protocol == "endurance":
        from perfreg_assets.evaluation import endurance

        return endurance
    if protocol == "benchmarks":
        from perfreg_assets.evaluation import benchmarks

        return benchmarks
    if protocol == "versions":
        from perfreg_assets.evaluation import versions

        return versions
    if protocol == "shifts":
        from perfreg_assets.evaluation import shifts

        return shifts
    return None
