"""`perfreg status`, `perfreg tidy`, `perfreg doctor`, `perfreg backup` and `perfreg restore`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from perfreg_assets import terminal
from perfreg_assets.cli.root import command
from perfreg_assets.cli.upkeep import bring_up_to_date
from perfreg_assets.how_many import how_many
from perfreg_assets.settings import Settings


@command("status", example="perfreg status --format json")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def status(settings: Settings, form: str) -> None:
    """Shows what does not hold any more and why: run by run the earliest step that is due, and pages to be written.

    Under `perfreg ui` the next tick asks for just that; `perfreg catch-up` computes it at once, and so do `perfreg
    ingest` of anything and a changed setting.
    """
    from perfreg_assets.assets.outstanding import BENCHMARK_STEP, STEPS, outstanding
    from perfreg_assets.warehouse.connection import Warehouse

    with Warehouse.of(settings).reading_caught_up() as reader:
        found = outstanding(reader, settings)
    rows = [
        {"run_id": one.run_id, "version": one.partition_key, "due": STEPS[one.stage][0], "why": one.why}
        for one in found.due
    ]
    known = {one.run_id for one in found.due}
    rows += [
        {"run_id": run_id, "version": key, "due": "reports", "why": "the page would come out different"}
        for run_id, key in found.pages.items()
        if run_id not in known
    ]
    rows += [
        {"run_id": one.benchmark_run_id, "version": one.partition_key, "due": BENCHMARK_STEP, "why": one.why}
        for one in found.benchmarks
    ]
    columns = ("run_id", "version", "due", "why")
    terminal.show(rows, columns, form)
    runs = len(found.due) + len(found.benchmarks)
    terminal.note(
        f"{how_many(runs, 'run')} and {how_many(len(found.pages), 'page')} are due" if rows else "nothing is due"
    )


@command("catch-up", example="perfreg catch-up", computes=True)
def catch_up(settings: Settings) -> None:
    """Computes what `perfreg status` shows as due: what commands that change something do at their end, and `perfreg
    serve` after a review."""
    bring_up_to_date(settings)


@command("tidy", example="perfreg tidy")
def tidy(settings: Settings) -> None:
    """Joins small files of the data folder and deletes those that nothing has named for a day.

    `perfreg ui` does it every night."""
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.named import require_warehouse
    from perfreg_assets.warehouse.tidying import tidy as tidy_up

    require_warehouse(settings)
    done = tidy_up(Warehouse.of(settings))
    terminal.say(f"{how_many(done.joined, 'file')} joined, {done.deleted} deleted, {done.waiting} to be deleted later")
    if done.missing:
        terminal.fail(done.lack)
        sys.exit(1)


@command("doctor", example="perfreg doctor --fix")
@click.option("--fix", is_flag=True, help="Mend what can be mended without losing anything.")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def doctor(settings: Settings, fix: bool, form: str) -> None:
    """Checks this installation: kernels, engine, disk, permissions, warehouse, Dagster's home, inbox, device tools.

    Exit status 1 when something failed; a notice works, and somebody should know of it."""
    from perfreg_assets.automation.doctor import examine
    from perfreg_assets.model.finding import COLUMNS

    with terminal.progress("doctor") as show:
        rows = examine(settings, is_fixing=fix, progress=show)
    terminal.show(rows, COLUMNS, form)
    if any(row["state"] == "failed" for row in rows):
        sys.exit(1)


@command("backup", example="perfreg backup perfreg-backup.tar", begins_anew=True)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def backup(settings: Settings, file: Path) -> None:
    """Writes the whole warehouse, with the values beside it, into one file; writers may go on meanwhile.

    Registered traces are not in it (they lie in .perfreg/runs), nor are pages, which are made again."""
    from perfreg_assets.warehouse.backup import backup as back_up
    from perfreg_assets.warehouse.connection import Warehouse

    kept = back_up(Warehouse.of(settings), file)
    terminal.say(
        f"{file}: {how_many(kept.run_count, 'run')}, {how_many(kept.file_count, 'file')} of values, "
        f"{kept.file_bytes / 1e6:,.1f} MB"
    )


@command("restore", example="perfreg restore perfreg-backup.tar --warehouse restored/perfreg.duckdb")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--replace", "is_replacing", is_flag=True, help="In place of a warehouse that is there; it is kept.")
def restore(settings: Settings, file: Path, is_replacing: bool) -> None:
    """Makes the warehouse what it was when a backup was taken. One that is there stays, unless told otherwise."""
    from perfreg_assets.model.finding import OK
    from perfreg_assets.model.warehouse_health import registered_folders
    from perfreg_assets.warehouse.backup import restore as bring_back
    from perfreg_assets.warehouse.connection import Warehouse

    kept = bring_back(Warehouse.of(settings), file, is_replacing=is_replacing)
    terminal.say(
        f"{settings.warehouse}: {how_many(kept.run_count, 'run')}, {how_many(kept.file_count, 'file')} of values"
    )
    if kept.replaced is not None:
        terminal.say(f"What was there is kept: {kept.replaced}; delete it when you are sure")
    left = registered_folders(Warehouse.of(settings), settings)
    if left.state != OK:
        terminal.note(f"{left.detail}; {left.advice}")
