"""`perfreg worker` and `perfreg commit`: many machines without Dagster's daemon, from cron or another queue."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from perfreg_assets import terminal
from perfreg_assets.cli.root import command
from perfreg_assets.cli.upkeep import bring_up_to_date
from perfreg_assets.how_many import how_many
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from perfreg_assets.automation.spreading import Task
    from perfreg_assets.objects import Objects


@command("worker", example="perfreg worker --share 2/3")
@click.argument("folders", nargs=-1)
@click.option("--share", metavar="I/N", help="Of what waits, the I-th of N parts, so that N workers need no queue.")
def worker(settings: Settings, folders: tuple[str, ...], share: str | None) -> None:
    """Reads run folders of the exchange (FOLDERS by their names in its inbox; default: all that wait, those that
    have just arrived once nothing changes there) and hands the results to `perfreg commit`."""
    from perfreg_assets.automation import spreading

    objects = spreading.exchange(settings)
    part = _parts(share) if share is not None else (1, 1)
    if folders:
        wanted = spreading.share(spreading.named(objects, folders), *part)
        count = len(spreading.read_folders(objects, settings, wanted, terminal.say))
    else:
        count = _read_waiting(objects, settings, part)
    terminal.say(f"{how_many(count, 'folder')} read")


def _read_waiting(objects: Objects, settings: Settings, part: tuple[int, int]) -> int:
    """Reads what waits, of what has just arrived what is the same in two looks; how many folders."""
    from perfreg_assets.automation import spreading

    def look() -> list[Task]:
        tasks = spreading.waiting(objects)
        own = set(spreading.share([task.folder for task in tasks], *part))
        return [task for task in tasks if task.folder in own]

    settle_s = settings.inbox_settle_s
    tasks, looked_at = look(), time.time()
    ready = [task.folder for task in tasks if task.is_ready(settle_s, looked_at)]
    count = len(spreading.read_folders(objects, settings, ready, terminal.say))
    fresh = {task.folder: task for task in tasks if task.folder not in ready}
    if any(task.has_run_json for task in fresh.values()):
        time.sleep(max(0.0, looked_at + settle_s - time.time()))
        still = [task.folder for task in look() if task.folder in fresh and task.is_as(fresh[task.folder])]
        count += len(spreading.read_folders(objects, settings, still, terminal.say))
        for folder in still:
            fresh.pop(folder)
    if fresh:
        terminal.note(f"{how_many(len(fresh), 'folder')} left alone until nothing changed there for {settle_s:g} s")
    return count


@command("commit", example="perfreg commit", computes=True)
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
