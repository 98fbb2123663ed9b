"""What commands that change something do afterwards: bring everything up to date, and say what was done."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from perfreg_assets import terminal
from perfreg_assets.cli import disk, interruption
from perfreg_assets.how_many import how_many
from perfreg_assets.reasons import Rejected
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from perfreg_assets.assets.outstanding import Outstanding
    from perfreg_assets.automation.materialise import Materialised
    from perfreg_assets.automation.upkeep import Upkeep


def project_of(settings: Settings) -> tuple[Any, Any]:
    """Dagster's definitions and the project resource for these settings."""
    from perfreg_assets.assembly import build_defs
    from perfreg_assets.assets.project import Project

    project = Project.of(settings)
    return build_defs(resources={"project": project}), project


def bring_up_to_date(settings: Settings) -> None:
    """Computes what is due and says what was done; exit status 1 when something failed."""
    from perfreg_assets.automation import upkeep

    with terminal.progress("perfreg", lines=True) as show:
        show("what is due")
        defs, project = project_of(settings)
        result = upkeep.bring_up_to_date(defs, project, progress=show)
    tell_upkeep(result.done, result, settings)


def refresh_pages(settings: Settings) -> None:
    """Writes the pages that would come out different, after a change that no verdict in force depends on."""
    from perfreg_assets.assets.outstanding import write_all_pages
    from perfreg_assets.warehouse.connection import Warehouse

    written = write_all_pages(Warehouse.of(settings).reading_caught_up, settings)
    terminal.say(f"{how_many(len(written), 'page')} written")


def tell_refused(settings: Settings, keys: Iterable[str]) -> None:
    """Evaluates Dagster's check of refused folders, where no step does: for some partitions, and folders of none."""
    from perfreg_assets.assets import checks
    from perfreg_assets.automation.home import prepare_home
    from perfreg_assets.automation.materialise import records_in
    from perfreg_assets.warehouse.connection import Warehouse

    with records_in(prepare_home(settings)) as instance, Warehouse.of(settings).reading_caught_up() as reader:
        checks.tell_refused(instance, reader, sorted(keys))


_DONE = {
    "selected_now": ("history", "histories", "selected"),
    "runs_measured_now": ("run", "runs", "measured"),
    "localised_now": ("series", "series", "localised"),
    "explained_now": ("run", "runs", "explained"),
    "benchmarks_measured_now": ("file", "files", "of benchmarks judged"),
    "pages_written_now": ("page", "pages", "written"),
}
"""Metadata of the assets → what is counted there: singular, plural, and what was done with it."""


def tell_upkeep(done: Materialised, upkeep: Upkeep, settings: Settings, *, is_all_taken_in: bool = True) -> None:
    """Says what was done, and what the upkeep at the end left; status 1 where something failed, even if it was made up
    for: a check that blocks a step fails it, too.

    Args:
        is_all_taken_in: whether the step that takes in what was given was done. What it lacks is not due.
    """
    left = upkeep.left
    if done.failures:
        interruption.heed()  # that is why, and is told in one line
    told = [
        f"{how_many(done.counts[name], one, many)} {what}"
        for name, (one, many, what) in _DONE.items()
        if done.counts.get(name)
    ]
    terminal.say(", ".join(told) if told else "nothing was due")
    if upkeep.elsewhere:
        versions, verb = how_many(len(upkeep.elsewhere), "version"), "is" if len(upkeep.elsewhere) == 1 else "are"
        terminal.note(f"{versions} {verb} being computed by Dagster ({upkeep.elsewhere[0]}), and left to it")
    failures = list(dict.fromkeys(done.failures))  # of several versions the same one, most often
    full = [failure for failure in failures if disk.says_so(failure)]
    if full:  # it is why the others failed, and what is due says no more than that
        terminal.fail(disk.sentence(settings, full[0]))
        sys.exit(1)
    for failure in failures:
        terminal.fail(failure)
    _tell_placeless(left, settings)
    if left.keys:
        terminal.fail(
            f"still due: {how_many(len(left.due), 'run')}, {how_many(len(left.pages), 'page')}; "
            "`perfreg status` says what and why"
        )
    elif failures and is_all_taken_in and not upkeep.elsewhere:
        terminal.note("what failed was made up for afterwards: nothing is due any more")
    if done.failures or left.keys:
        sys.exit(1)


def _tell_placeless(left: Outstanding, settings: Settings) -> None:
    """Of runs whose trace is to be read still: those whose folder is in no place that is known here."""
    from perfreg_assets.model.freshness import Stage
    from perfreg_assets.model.trace_places import placeless, with_folder
    from perfreg_assets.warehouse import runs as run_table
    from perfreg_assets.warehouse.connection import Warehouse

    run_ids = [one.run_id for one in left.due if one.stage is Stage.TRACE]
    if not run_ids:
        return
    with Warehouse.of(settings).reading() as reader:
        rows = run_table.find(reader, run_ids, with_path=False)
    try:
        seen = with_folder(rows.values(), settings)
    except Rejected:  # that is why they were not read, and is told
        return
    if unseen := [run_id for run_id in run_ids if run_id not in seen]:
        terminal.fail(str(placeless(unseen)))
