"""`perfreg status`, `perfreg tidy` and `perfreg doctor`."""

from __future__ import annotations

import sys

import click

from perfreg_assets import terminal
from perfreg_assets.cli.root import command
from perfreg_assets.settings import Settings


@command("status", example="perfreg status --format json")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def status(settings: Settings, form: str) -> None:
    """Shows what does not hold any more and why: run by run the earliest step that is due, and pages to be written.

    Under `perfreg ui` the next tick asks for just that; `perfreg ingest` of anything, or a changed setting, does too.
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
    terminal.note(f"{runs} runs and {len(found.pages)} pages are due" if rows else "nothing is due")


@command("tidy", example="perfreg tidy")
def tidy(settings: Settings) -> None:
    """Joins small files of the data folder and deletes those that nothing has named for a day.

    `perfreg ui` does it every night."""
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.tidying import tidy as tidy_up

    done = tidy_up(Warehouse.of(settings))
    terminal.say(f"{done.joined} files joined, {done.deleted} deleted, {done.waiting} to be deleted later")
    if done.missing:
        terminal.fail(
            f"{len(done.missing)} files that the warehouse names are not in its data folder, such as "
            f"{done.missing[0]}; restore them, or ingest their runs again"
        )
        sys.exit(1)


@command("doctor", example="perfreg doctor")
def doctor(settings: Settings) -> None:
    """Checks this installation: the kernels against tslearn and stumpy, the trace engine, the warehouse."""
    from perfreg_assets.model.health import examine

    with terminal.progress("doctor") as show:
        rows = examine(settings, progress=show)
    terminal.table(rows, ("check", "state", "detail"))
    if any(row["state"] == "failed" for row in rows):
        sys.exit(1)
