"""Whose a data folder is: tidying deletes from it what its warehouse does not name, which would be another's values.

The one that lies beside a warehouse is that one's by its name; in another a file says so. That counts for this place
alone: a folder that was moved or copied, and one whose warehouse was moved or is gone, belongs to whoever writes next.
Of an object store nothing is noted, because the next machine could not look whether the warehouse is still there.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import data_beside
from perfreg_assets.warehouse.data_folder import DataFolder
from perfreg_assets.warehouse.file_name import written_as

FILE = "warehouse.json"


def refuse_taken(data: DataFolder, warehouse: Path) -> None:
    """Checks the folder before anything is written.

    Args:
        warehouse: absolute path of the database.

    Raises:
        Rejected: DATA_TAKEN.
    """
    if not data.is_local:
        return
    # Whose name its own folder bears is looked at with the warehouse's name (`file_name`).
    beside = None if _is_own(data, warehouse) else _beside(data)
    for owner in (_noted(data), beside):
        if owner is not None and owner.is_file() and not _is_same(owner, warehouse):
            raise Rejected(Reason.DATA_TAKEN, f"{data.root} holds the values of {owner}, not those of {warehouse}")


def note(data: DataFolder, warehouse: Path) -> None:
    """Notes that a folder of this machine is this warehouse's, where neither its name nor a note says so yet.

    Raises:
        Rejected: WAREHOUSE_DISK_FULL.
    """
    if not data.is_local or _is_own(data, warehouse):
        return
    owner = _noted(data)
    if owner is None or not _is_same(owner, warehouse):
        data.write(FILE, json.dumps({"data": data.root, "warehouse": str(warehouse)}).encode())


def _is_own(data: DataFolder, warehouse: Path) -> bool:
    """Whether the folder lies beside the warehouse and is called after it."""
    return _is_same(Path(data.root), data_beside(warehouse))


def _noted(data: DataFolder) -> Path | None:
    """The database that is noted in the folder where it is now; None where none is."""
    try:
        told = json.loads((Path(data.root) / FILE).read_text("utf-8"))
        folder, warehouse = Path(told["data"]), Path(told["warehouse"])
    except (OSError, ValueError, KeyError, TypeError):  # none, or somebody else's file
        return None
    return warehouse if _is_same(folder, Path(data.root)) else None


def _beside(data: DataFolder) -> Path | None:
    """The warehouse that the folder lies beside and is called after."""
    folder = Path(data.root)
    called = written_as(folder.parent, folder.stem)
    return next((one for one in called if data_beside(one) == folder), None)


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths are one place, by whatever link."""
    try:
        return one == other or os.path.samefile(one, other)
    except OSError:  # one of them is not there
        return False
