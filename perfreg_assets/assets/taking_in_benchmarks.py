"""Taking in folders of benchmark results from within Dagster: those of the inbox leave it afterwards."""

import logging
import os
from collections.abc import Sequence
from pathlib import Path

from perfreg_assets.assets.named_places import require_named
from perfreg_assets.benchmarks.taking_in import DOCUMENT, Origin, take_in
from perfreg_assets.collection import inbox
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import benchmarks as table
from perfreg_assets.warehouse.connection import Warehouse


def is_benchmark_folder(folder: Path) -> bool:
    """Whether a folder holds benchmark results and no run; one that may not be read is told as a run folder."""
    return os.path.isfile(folder / DOCUMENT) and not os.path.exists(folder / "run.json")


def take_in_folders(
    names: Sequence[str], settings: Settings, warehouse: Warehouse, log: logging.Logger, *, from_inbox: bool
) -> list[str]:
    """Stores what the folders hold; the ids of the benchmark runs that are new.

    A folder with a file that is refused stays in the inbox and is noted there, to be mended; its other files are taken.

    Raises:
        Rejected: FOLDER_ELSEWHERE.
    """
    require_named(names, settings)
    new: list[str] = []
    for folder in [Path(name) for name in names if Path(name).is_dir()]:
        before = inbox.sight(folder) if from_inbox else None
        taken = take_in([folder], Origin())
        found = [one.measured for one in taken if one.measured is not None]
        if found:
            with warehouse.writing() as writer:
                corrected = table.correct_starts(writer, found)
                added = table.add(writer, found)
            new += added
            log.info(
                "%s: %d of %d files are new, the start of %d is corrected",
                folder.name, len(added), len(found), len(corrected),
            )  # fmt: skip
        refused = [one for one in taken if one.rejected is not None]
        for one in refused:
            assert one.rejected is not None
            log.warning("refused %s [%s] %s", one.path, one.rejected.reason, one.rejected)
        if before is None:
            continue
        try:
            if refused:
                inbox.note(before, folder.parent)
            else:
                inbox.leave(before, folder.parent, settings.inbox_after)
        except OSError as error:
            log.warning("%s stays in the inbox: %s", folder.name, error)
    return new
