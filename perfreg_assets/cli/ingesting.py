"""`perfreg demo` and `perfreg ingest`: from run folders to verdicts and pages."""

from __future__ import annotations

import time
from pathlib import Path

import click

from perfreg_assets import bundled, terminal
from perfreg_assets.cli.reading import show_verdicts
from perfreg_assets.cli.root import command
from perfreg_assets.cli.upkeep import project_of, tell_upkeep
from perfreg_assets.settings import Settings

DEMO_SIMILARITY = "0.6"


@command("demo", example="perfreg demo")
def demo(settings: Settings) -> None:
    """Runs the whole pipeline on the bundled recorded runs and shows what it found."""
    from perfreg_assets.reports.pictures import picture_of_worst
    from perfreg_assets.warehouse import settings_table
    from perfreg_assets.warehouse.connection import Warehouse

    name = "path_similarity_minimum"
    warehouse = Warehouse.of(settings)
    if name not in settings.given and not settings.published_warehouse.exists():
        # Sessions of 70 s: few actions, so that one detour makes a path dissimilar.
        with warehouse.writing() as writer:
            settings_table.change(writer, name, DEMO_SIMILARITY, note="demo: its sessions are 70 s short")
        terminal.say(f"demo: paths {DEMO_SIMILARITY} similar or more are comparable in this warehouse (setting {name})")

    show_verdicts(settings, _ingest(settings, [bundled.demo_runs_dir()]))
    picture = settings.home_dir / "demo.png"
    with warehouse.reading() as reader:
        worst = picture_of_worst(reader)
    terminal.say()
    if worst is not None:
        picture.write_bytes(worst.png)
        terminal.say(f"picture    {picture}   ({worst.caption})")
    terminal.say(f"report     {settings.reports_dir / 'index.html'}   (or: perfreg serve)")
    terminal.say(f'DuckDB     {settings.published_warehouse}   (or: perfreg sql "FROM marts.verdicts")')
    terminal.say("Dagster    perfreg ui")


@command("ingest", example="perfreg ingest runs/ other/run-17")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
def ingest(settings: Settings, paths: tuple[Path, ...]) -> None:
    """Takes in run folders (or folders of them) and materialises everything downstream."""
    show_verdicts(settings, _ingest(settings, list(paths)))


def _ingest(settings: Settings, paths: list[Path]) -> set[str]:
    """The runs that were given, whether new or known already."""
    from perfreg_assets.automation import jobs
    from perfreg_assets.automation.materialise import Materialised, materialise
    from perfreg_assets.automation.upkeep import bring_up_to_date
    from perfreg_assets.collection import registry
    from perfreg_assets.methods.compiled import ensure_compiled
    from perfreg_assets.partitions import to_key
    from perfreg_assets.warehouse import runs as run_table

    begin = time.perf_counter()
    defs, project = project_of(settings)
    ensure_compiled()
    done = Materialised()
    with terminal.progress("perfreg") as show:
        folders, rejected = registry.sort_out(registry.find_run_folders(paths), settings, to_key)
        runs = [run for of_key in folders.values() for run in of_key]
        refused = registry.register(rejected, settings, project.open(), to_key) if rejected else []
        if folders:
            given = [str(run.folder.absolute()) for run in runs]
            done += materialise(
                defs,
                jobs.EVERYTHING_JOB,
                list(folders),
                settings,
                op_config={"runs": {"folders": given}},
                progress=show,
            )
        upkeep = bring_up_to_date(defs, project, progress=show)
    done += upkeep.done
    names = [run.folder.name for run in runs] + [outcome.folder.name for outcome in refused]
    with project.open().reading() as reader:
        quarantined = run_table.quarantined(reader, names)
    for name, code, reason in quarantined:
        terminal.fail(f"quarantined {name} [{code}] {reason}")
    seconds = time.perf_counter() - begin
    accounted = ", ".join(f"{name} {done.parts[name]:.1f}" for name in sorted(done.parts))
    terminal.say(
        f"{len(names) - len(quarantined)} runs of {len(folders)} versions, {len(quarantined)} quarantined, "
        f"in {seconds:.1f} s" + (f" (worker seconds: {accounted})" if accounted else "")
    )
    tell_upkeep(done, upkeep.left)
    return {run.run_id for run in runs}
