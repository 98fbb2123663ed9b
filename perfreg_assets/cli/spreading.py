"""`perfreg worker` and `perfreg commit`: many machines without Dagster's daemon, from cron or another queue."""

from __future__ import annotations

import time

import click

from perfreg_assets import terminal
from perfreg_assets.cli.root import command
from perfreg_assets.cli.upkeep import bring_up_to_date
from perfreg_assets.how_many import how_many
from perfreg_assets.settings import Settings


@command("worker", example="perfreg worker --share 2/3")
@click.argument("folders", nargs=-1)
@click.option("--share", metavar="I/N", help="Of what waits, the I-th of N parts, so that N workers need no queue.")
def worker(settings: Settings, folders: tuple[str, ...], share: str | None) -> None:
    """Reads run folders of the exchange (FOLDERS by their names in its inbox; default: all that wait) and hands the
    results to `perfreg commit`."""
    from perfreg_assets.automation import spreading

    objects = spreading.exchange(settings)
    wanted = spreading.named(objects, folders)
    if not folders:
        tasks = spreading.waiting(objects)
        wanted = [task.folder for task in tasks if task.is_ready(settings.inbox_settle_s, time.time())]
        if len(wanted) < len(tasks):
            left = how_many(len(tasks) - len(wanted), "folder")
            terminal.note(
                f"{left} without run.json left alone until nothing changed there for {settings.inbox_settle_s:g} s"
            )
    if share is not None:
        wanted = spreading.share(wanted, *_parts(share))
    found = spreading.read_folders(objects, settings, wanted, terminal.say)
    terminal.say(f"{how_many(len(found), 'folder')} read")


@command("commit", example="perfreg commit")
def commit(settings: Settings) -> None:
    """Takes the results of workers into the warehouse, and computes everything downstream."""
    from perfreg_assets.automation import spreading
    from perfreg_assets.warehouse.connection import Warehouse

    warehouse = Warehouse.of(settings)
    done = spreading.commit(spreading.exchange(settings), settings, warehouse, terminal.say)
    terminal.say(
        f"{how_many(len(done.runs), 'run')} committed, {len(done.quarantined)} quarantined, "
        f"{how_many(len(done.refused), 'result')} refused, to be read again"
    )
    if warehouse.published.exists():
        bring_up_to_date(settings)
    done.require_cleared()


def _parts(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise ValueError(f"--share {text}: expected I/N with 1 ≤ I ≤ N, as in 2/3")
    return int(number), int(count)
