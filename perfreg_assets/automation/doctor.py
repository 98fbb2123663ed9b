"""`perfreg doctor`: every part of an installation is looked at, and mended where that loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from perfreg_assets.automation.home_health import examine_home
from perfreg_assets.collection import inbox, told_sessions, tools
from perfreg_assets.collection.journal import is_in_use, unfinished_journals
from perfreg_assets.collection.sweep import journal_dir
from perfreg_assets.how_many import how_many
from perfreg_assets.model import health
from perfreg_assets.model.finding import NOTICE, OK, Finding, guarded
from perfreg_assets.reasons import Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse

_COLLECTIONS = "collections"
_ROWS = "rows of collections"


def examine(settings: Settings, *, is_fixing: bool, progress: Callable[[str], None]) -> list[dict[str, Any]]:
    """A row per check: check, state ('ok', 'notice', 'failed', 'mended'), detail, advice.

    Args:
        is_fixing: what can be mended without losing anything is.
    """
    return [finding.row(is_fixing=is_fixing) for finding in _findings(settings, progress)]


def _findings(settings: Settings, progress: Callable[[str], None]) -> Iterator[Finding]:
    yield from health.examine(settings, progress=progress)
    progress("Dagster's home")
    yield from examine_home(settings)
    progress("inbox and devices")
    yield guarded("folders in the inbox", lambda: _inbox(settings))
    yield _devices()
    yield guarded(_COLLECTIONS, lambda: _debts(settings))
    yield guarded(_ROWS, lambda: _untold(settings))


def _inbox(settings: Settings) -> Finding:
    check = "folders in the inbox"
    found = inbox.look(settings.inbox_dir)
    refused = [one.name for one in found if one.is_done] if settings.inbox_after != "keep" else []
    if refused:
        told = f"{len(refused)} were refused, such as {refused[0]}"
        return Finding(check, NOTICE, told, "see their reason in marts.runs; mend them there, or take them away")
    files = inbox.beside_folders(settings.inbox_dir)
    if files:
        told = f"{how_many(len(files), 'file')} in no folder, such as {files[0]}"
        advice = "nobody takes them: put each trace into a folder with its run.json, or `perfreg import` it"
        return Finding(check, NOTICE, f"{len(found)}; {told}", advice)
    return Finding(check, OK, f"{len(found)}")


def _devices() -> Finding:
    """Nobody needs a device who brings run folders: what is missing here is never a failure."""
    check = "device tools"
    try:
        program, devices = tools.adb_program(), tools.listed_devices()
    except Rejected as rejected:
        return Finding(check, NOTICE, rejected.detail, rejected.reason.sentence)
    if devices is None:
        return Finding(check, OK, f"{program}; its server is not running")
    unusable = [str(device) for device in devices if device.state != "device"]
    if unusable:
        return Finding(check, NOTICE, f"{program}; {', '.join(unusable)}", "see to these devices before collecting")
    return Finding(check, OK, f"{program}; {how_many(len(devices), 'device')}")


def _debts(settings: Settings) -> Finding:
    folder = journal_dir(settings)
    journals = unfinished_journals(folder)
    busy = {serial for serial in {journal.serial for journal in journals} if is_in_use(folder, serial)}
    open_ones = [journal for journal in journals if journal.serial not in busy]
    under_way = f"{how_many(len(busy), 'device')} in use by a collection"
    if not open_ones:
        return Finding(_COLLECTIONS, OK, under_way if busy else "none owes its device anything")
    told = f"{len(open_ones)} were cut short and owe their device something, such as {open_ones[0].serial}"
    return Finding(_COLLECTIONS, NOTICE, told, "`perfreg collect --sweep`, or the next collection, settles it")


def _untold(settings: Settings) -> Finding:
    left = told_sessions.orphans(settings)
    if not left:
        return Finding(_ROWS, OK, "all are stored")
    told = f"{how_many(len(left), 'session')} ended before the row was stored, such as {left[0].collection_id}"
    advice = "`perfreg collect --sweep`, or the next collection, stores them"
    return Finding(_ROWS, NOTICE, told, advice, lambda: _tell_orphans(settings))


def _tell_orphans(settings: Settings) -> str:
    return f"stored: {how_many(told_sessions.store(Warehouse.of(settings), settings), 'row')}"
