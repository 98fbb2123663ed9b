"""`perfreg notify`: the webhook without Dagster."""

from __future__ import annotations

import sys

import click

from perfreg_assets import terminal
from perfreg_assets.cli.root import command
from perfreg_assets.how_many import how_many
from perfreg_assets.settings import Settings


@command("notify", example="perfreg notify --dry-run")
@click.option("--dry-run", is_flag=True, help="Say what would be posted; nothing is, and it stays pending.")
def notify(settings: Settings, dry_run: bool) -> None:
    """Posts each regression that nobody was told of to the webhook (PERFREG_WEBHOOK_URL), once: whatever this command
    or the sensor under `perfreg ui` posted is not posted again. Exit status: 0 all were posted or nothing was pending,
    1 no webhook is set, or some were surely or perhaps not delivered."""
    from perfreg_assets.reports.notify import build_message
    from perfreg_assets.reports.pending import NO_WEBHOOK, pending, post_pending
    from perfreg_assets.warehouse.connection import Warehouse

    warehouse = Warehouse.of(settings)
    if dry_run:
        with warehouse.reading_caught_up() as reader:
            found = pending(reader, settings)
        for one in found:
            terminal.say(build_message(one, reports_url=settings.reports_address)["text"])
        where = settings.shown("webhook_url") or NO_WEBHOOK
        verb = "is" if len(found) == 1 else "are"
        terminal.note(f"{how_many(len(found), 'regression')} {verb} pending, nothing was posted; {where}")
        return
    with terminal.progress("notify") as show:
        show("posting")
        count, outcome = post_pending(warehouse, settings)
    for key, problem in (*outcome.refused, *outcome.uncertain):
        terminal.fail(f"{key}: {problem}")
    handled = len(outcome.sent) + len(outcome.refused) + len(outcome.uncertain)
    told = [
        f"{len(outcome.sent)} of {count} pending regressions posted" if count else "nothing was pending",
        *([f"{len(outcome.refused)} refused, which stay pending"] if outcome.refused else []),
        *([f"{len(outcome.uncertain)} perhaps delivered, which are not posted again"] if outcome.uncertain else []),
        *([f"{count - handled} being posted by another process"] if count > handled else []),
    ]
    terminal.say("; ".join(told))
    if outcome.refused or outcome.uncertain:
        sys.exit(1)
