"""`perfreg bench run`: a suite is run, and its results are judged."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfreg_assets import terminal
from perfreg_assets.cli import interruption
from perfreg_assets.cli.benchmarks import bench, show_verdicts, store
from perfreg_assets.cli.root import command
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfreg_assets.benchmarks.results import ResultFile
    from perfreg_assets.benchmarks.suite import Suite


@command(
    "run", example="perfreg bench run suite.xml --app com.rig.shop --app-version 1.5.0", group=bench, ends_itself=True
)
@click.argument("suite", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
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
@click.option("--device", metavar="SERIAL", help="On this attached device, by adb, instead of this machine.")
@click.option("--device-name", help="Name of the device or machine in the results; default: its own.")
@click.option(
    "--d8",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Android's dex compiler, for Java on devices; default: that of ANDROID_HOME's build-tools.",
)
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def bench_run(
    settings: Settings, suite: Path | None, app: str, app_version: str, variants: tuple[str, ...],
    only: tuple[str, ...], options: tuple[str, ...], device: str | None, device_name: str | None, d8: Path | None,
    form: str,
) -> None:  # fmt: skip
    """Runs a suite of benchmarks (XML or TOML, see docs/benchmarks.md; default: the one that comes with perfreg) on
    this machine or a device, and judges the results against those of earlier versions.

    Exit status as of `bench import`; a benchmark that fails is said, and the others go on.
    """
    from perfreg_assets.benchmarks import shipped
    from perfreg_assets.benchmarks.results import result_name
    from perfreg_assets.benchmarks.running import METRIC
    from perfreg_assets.benchmarks.suite import read_suite
    from perfreg_assets.benchmarks.taking_in import Origin, measured_of

    # Or SIGTERM, by which jobs are cancelled, would leave programs running, here and on the device.
    interruption.begin(ends_soon=False)
    given = _pairs(options, "--option")
    named: dict[str, dict[str, str]] = {}
    for text in variants or ("",):
        name, _, told = text.partition(":")
        if name in named:
            raise ValueError(f"--variant {name} is given twice; each needs a name of its own")
        named[name] = _pairs(tuple(told.split(",")) if told else (), "--variant")
    suites = [
        (name, _chosen(read_suite(suite or shipped.SUITE, {**given, **own}), only)) for name, own in named.items()
    ]
    with terminal.progress("bench") as show:
        files = _run(settings, suites, device, d8, show)
        found = [
            measured_of(
                one,
                Origin(app=app, version_name=app_version, variant=name, device=device_name),
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
        rows = store(settings, found, show)
    units = {
        result_name(one.name, one.options.told_params, METRIC): one.options.unit
        for _, chosen in suites
        for one in chosen.benchmarks
    }
    show_verdicts(rows, form, units)


def _run(
    settings: Settings, suites: list[tuple[str, Suite]], serial: str | None, d8: Path | None,
    show: Callable[[str], None],
) -> dict[str, list[ResultFile]]:  # fmt: skip
    """Variant → what was measured, here or on a device; what could not be removed from that is said."""
    from perfreg_assets.benchmarks.device_programs import OnDevice
    from perfreg_assets.benchmarks.running import run_suites
    from perfreg_assets.collection.benchmark_session import lend

    if serial is None:
        return run_suites(suites, progress=show)
    with lend(settings, serial) as session:
        files = run_suites(suites, progress=show, machine=OnDevice(session, d8))
    for left in session.leftovers:
        terminal.note(f"still on {serial}: {left}; `perfreg collect --sweep` removes it once the device is back")
    return files


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


@command("suite", example="perfreg bench suite my-suite", group=bench)
@click.argument("folder", type=click.Path(path_type=Path))
def bench_suite(settings: Settings, folder: Path) -> None:
    """Copies the suite that comes with perfreg, 40 tests in Java with their sources, into a new FOLDER to change it
    there."""
    from perfreg_assets.benchmarks import shipped

    terminal.say(str(shipped.copy_to(folder)))
