"""Registering run folders from within Dagster: those of the inbox leave it afterwards."""

import logging
from collections.abc import Sequence
from pathlib import Path

from perfreg_assets.assets.named_places import require_named
from perfreg_assets.collection import inbox, registry
from perfreg_assets.collection.registry import Registration
from perfreg_assets.partitions import to_key
from perfreg_assets.reasons import Reason
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse


def take_in(
    names: Sequence[str], settings: Settings, warehouse: Warehouse, log: logging.Logger, *, from_inbox: bool
) -> list[Registration]:
    """Registers or quarantines folders. Of the inbox, those registered leave it, those refused stay and are noted; what
    is gone is taken when it comes back.

    Raises:
        Rejected: FOLDER_ELSEWHERE.
    """
    require_named(names, settings)
    folders = [Path(name) for name in names]
    before: dict[Path, inbox.Sighting | None] = {}
    if from_inbox:  # what is not there any more was taken in before this step was tried again
        before = {folder: inbox.sight(folder) for folder in folders if folder.is_dir()}
        folders = list(before)
    outcomes = registry.register(folders, settings, warehouse, to_key)
    for outcome in outcomes:
        seen = before.get(outcome.folder)
        if seen is None or (outcome.rejected and outcome.rejected.reason is Reason.FOLDER_GONE):
            continue
        try:
            if outcome.rejected:
                inbox.note(seen, outcome.folder.parent)
            else:
                inbox.leave(seen, outcome.folder.parent, settings.inbox_after)
        except OSError as error:
            log.warning("%s stays in the inbox: %s", outcome.folder.name, error)
    return outcomes
