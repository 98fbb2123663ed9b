"""`perfreg demo` and `perfreg ingest`: from run folders to verdicts and pages."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfreg_assets import bundled, terminal
from perfreg_assets.cli import interruption
from perfreg_assets.cli.reading import show_verdicts
from perfreg_assets.cli.root import command
from perfreg_assets.cli.upkeep import project_of, tell_refused, tell_upkeep
from perfreg_assets.how_many import how_many
from perfreg_assets.named_files import write_named
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from perfreg_assets.assets.project import Project
    from perfreg_assets.automation.materialise import Materialised
    from perfreg_assets.collection.run_folder import RunFolder
    from perfreg_assets.warehouse.connection import Warehouse

DEMO_SIMILARITY = "0.6"
_NAMED = 5
_TAKING_IN = "runs"
"""The step that registers the folders."""


@command("demo", example="perfreg demo --dir perfreg-demo")
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keeps warehouse and pages of the demo there, apart from all else; default: the warehouse of other commands.",
)
def demo(settings: Settings, folder: Path | None) -> None:
    """Runs the whole pipeline on the bundled recorded runs and shows what it found."""
    if folder is not None:
        settings = settings.with_values(warehouse=folder.absolute() / "perfreg.duckdb", home=None, data=None)
    with terminal.progress("demo", lines=True) as show:
        show("preparing its warehouse")
        warehouse = _warehouse_of_demo(settings)
    show_verdicts(settings, take_in(settings, [bundled.demo_runs_dir()]))
    from perfreg_assets.reports.pictures import picture_of_worst

    picture = settings.home_dir / "demo.png"
    with warehouse.reading() as reader:
        worst = picture_of_worst(reader)
    terminal.say()
    if worst is not None:
        write_named(picture, worst.png)
        terminal.say(f"picture    {picture}   ({worst.caption})")
    there = "" if folder is None else f" --warehouse {shlex.quote(str(settings.warehouse))}"
    terminal.say(f"report     {settings.reports_dir / 'index.html'}   (or: perfreg serve{there})")
    query = "SELECT run_id, series, state FROM marts.verdicts WHERE is_current"
    terminal.say(f'DuckDB     {settings.published_warehouse}   (or: perfreg sql{there} "{query}")')
    terminal.say(f"Dagster    perfreg ui{there}")
    if folder is not None:
        terminal.say(f"all of it  {folder}   (delete the folder when you are done)")


def _warehouse_of_demo(settings: Settings) -> Warehouse:
    """A new one gets what the demo's short sessions need.

    Raises:
        ValueError: it holds other runs.
    """
    from perfreg_assets.warehouse import settings_table
    from perfreg_assets.warehouse.connection import Warehouse

    name = "path_similarity_minimum"
    warehouse = Warehouse.of(settings)
    if settings.published_warehouse.exists():
        _require_demo_alone(warehouse)
    elif name not in settings.given:
        # Sessions of 70 s: few actions, so that one detour makes a path dissimilar.
        with warehouse.writing() as writer:
            note = "demo: its sessions are 70 s short"
            settings_table.change(writer, name, DEMO_SIMILARITY, note, changed_by="perfreg demo")
        terminal.say(f"demo: paths {DEMO_SIMILARITY} similar or more are comparable in this warehouse (setting {name})")
    return warehouse


def _by_version(
    defs: Any, settings: Settings, by_key: Mapping[str, Sequence[RunFolder]], show: Callable[[str], None]
) -> tuple[Materialised, list[str]]:
    """What was done to take run folders in and to judge their versions, and the folders of which the step that takes
    them in failed. Of versions that Dagster computes just now they are registered only: the rest is due when it has."""
    from perfreg_assets.automation import jobs
    from perfreg_assets.automation.materialise import Materialised, materialise
    from perfreg_assets.automation.upkeep import versions_at_work

    done, failed = Materialised(), list[str]()
    busy = versions_at_work(settings).intersection(by_key)
    for job, keys in ((jobs.EVERYTHING_JOB, by_key.keys() - busy), (jobs.INGEST_JOB, busy)):
        chosen = [key for key in by_key if key in keys]
        if chosen:
            folders = [str(run.folder) for key in chosen for run in by_key[key]]
            taken = materialise(
                defs, job, chosen, settings, op_config={_TAKING_IN: {"folders": folders}}, progress=show
            )
            if _TAKING_IN not in taken.steps:  # in every range, each of which takes all folders in
                failed += folders
            done += taken
    return done, failed


def _damaged(runs: dict[str, RunFolder], project: Project) -> list[tuple[str, str, str]]:
    """Takes those out of the runs by folder whose trace proved damaged when it was read: (name, code, reason)."""
    from perfreg_assets.warehouse import runs as run_table

    if not runs or not project.settings().published_warehouse.exists():
        return []
    with project.open().reading() as reader:
        found = run_table.quarantined(reader, [run.run_id for run in runs.values()])
    return [
        (runs.pop(folder).folder.name, *found[run.run_id]) for folder, run in list(runs.items()) if run.run_id in found
    ]


def _require_demo_alone(warehouse: Warehouse) -> None:
    """Raises ValueError for a warehouse with anything but the demo's runs: they would stand among somebody's own."""
    of_demo = [path.name for path in bundled.demo_runs_dir().iterdir()]
    others = "SELECT min(run_id), count(*) FROM marts.runs WHERE NOT list_contains($known, run_id)"
    with warehouse.reading_caught_up() as reader:
        ((first, count),) = reader.rows(others, {"known": of_demo})
    if count:
        raise ValueError(
            f"{warehouse.path} holds other runs than the demo's ({count} of them, {first} the first by name); "
            "give the demo a warehouse of its own: perfreg demo --dir perfreg-demo"
        )


@command("ingest", example="perfreg ingest runs/ other/run-17")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
def ingest(settings: Settings, paths: tuple[Path, ...]) -> None:
    """Takes in run folders (or folders of them) and materialises everything downstream. Exit status: 0 at least one run
    was taken in or known already (a path that was named and is no run folder is told last), 1 every folder was
    quarantined, is not there or holds no run, or something failed."""
    taken = take_in(settings, list(paths))
    if not taken:
        sys.exit(1)
    show_verdicts(settings, taken)
    if missing := [path for path in paths if _why_no_run(path)]:
        tell_missing(missing, "not there or no run folder")


def _why_no_run(path: Path) -> str | None:
    """Why nothing comes of a path that somebody named; None where it is a run or holds some, broken ones too. A link
    that leads nowhere is refused as a folder is."""
    from perfreg_assets.collection import registry

    if not os.path.lexists(path):
        return "does not exist; give run folders, or folders that hold them"
    if path.is_file():
        return "is a file; give the run folder that it lies in, or a bare trace to `perfreg import`"
    if path.is_dir() and not any(map(registry.has_part_of_a_run, registry.find_run_folders([path]))):
        return (
            "holds no run: there is no run.json and no trace in it or in the folders right below it; "
            "give run folders, or folders that hold them"
        )
    return None


def tell_missing(missing: Sequence[Path], why: str = "not there or cannot be read") -> None:
    """Last of all: what is said of each path at first stands above everything that came of the others."""
    named, verb = terminal.listed(missing[:_NAMED], len(missing)), "is" if len(missing) == 1 else "are"
    terminal.fail(
        f"{named} {verb} {why}; "
        "what else was named is taken in as told above: correct it and run the same command again, "
        "which adds only what is new"
    )


def take_in(settings: Settings, paths: list[Path]) -> set[str]:
    """Registers run folders (or folders of them), brings everything up to date and says what was done.

    Returns:
        Ids of the runs that were given, whether new or known already.
    """
    from perfreg_assets.automation.command_lock import computing
    from perfreg_assets.automation.materialise import Materialised
    from perfreg_assets.automation.upkeep import Upkeep, bring_up_to_date
    from perfreg_assets.collection import registry
    from perfreg_assets.methods.compiled import ensure_compiled
    from perfreg_assets.partitions import to_key
    from perfreg_assets.reports import site

    begin = time.perf_counter()
    done, failed = Materialised(), list[str]()
    why_no_run = {path: _why_no_run(path) for path in paths}
    there = [Path(os.path.abspath(path)) for path, why in why_no_run.items() if why is None]
    for path, why in why_no_run.items():
        if why is not None:
            terminal.fail(f"{path} {why}")
    if not there:  # there may be no warehouse either, and none is made
        terminal.say("0 runs of 0 versions, 0 quarantined")
        return set()
    with terminal.progress("perfreg", lines=True) as show, computing(settings):
        show("loading")
        defs, project = project_of(settings)
        ensure_compiled()
        show("looking for run folders")
        by_key, unreadable = registry.sort_out(registry.find_run_folders(there), settings, to_key)
        runs = {str(run.folder): run for of_key in by_key.values() for run in of_key}
        outcomes = registry.register(unreadable, settings, project.open(), to_key) if unreadable else []
        refused = [(one.folder.name, one.rejected.reason.code, str(one.rejected)) for one in outcomes if one.rejected]
        if by_key:
            done, failed = _by_version(defs, settings, by_key, show)
            for folder in failed:
                runs.pop(folder)
            interruption.heed()
            for one in done.refused:
                runs.pop(one.folder, None)
                refused.append((Path(one.folder).name, one.reason_code, one.reason))
        keys = {to_key(one.app, one.version_name) for one in outcomes if one.app and one.version_name}
        if outcomes and not (by_key and keys <= by_key.keys()):  # otherwise the step that takes runs in told of them
            tell_refused(settings, keys.union(by_key))
        # Where not even the first write went well there is nothing to look at: why it failed is what is told.
        is_lost = bool(done.failures) and not settings.published_warehouse.exists()
        upkeep = (
            Upkeep()
            if is_lost
            else bring_up_to_date(defs, project, with_waiting=False, awaited=by_key.keys(), progress=show)
        )
    done += upkeep.done
    refused += _damaged(runs, project)
    for name, code, reason in refused:
        terminal.fail(f"quarantined {name} [{code}] {reason}")
    seconds = time.perf_counter() - begin
    accounted = ", ".join(f"{name} {done.parts[name]:.1f}" for name in sorted(done.parts))
    terminal.say(
        f"{how_many(len(runs), 'run')} of "
        f"{how_many(len({(run.app, run.version_name) for run in runs.values()}), 'version')}, "
        f"{len(refused)} quarantined, "
        f"in {seconds:.1f} s" + (f" (worker seconds: {accounted})" if accounted else "")
    )
    if waiting := site.waiting(settings.reports_dir):
        terminal.note(
            f"{waiting} pages of other runs and versions still look as before the last update of perfreg "
            "or change of ω; `perfreg catch-up` writes them"
        )
    tell_upkeep(done, upkeep, settings, is_all_taken_in=not failed and not is_lost)
    return {run.run_id for run in runs.values()}
