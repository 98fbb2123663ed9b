"""Names that no warehouse can be written under: what lies beside it is called after it, its published copy first."""

from __future__ import annotations

import os
from pathlib import Path

from perfreg_assets.reasons import Reason, Rejected

LOCK_SUFFIX = ".lock"
"""Of the writers' lock, behind the whole name; it stays, so that it tells that a file was written as a warehouse."""


def refuse_name(path: Path, published: Path) -> None:
    """Checks the name of a warehouse before anything is written, its lock included.

    Args:
        path: absolute.
        published: the copy for readers.

    Raises:
        Rejected: WAREHOUSE_NAME.
    """
    if "?" in str(path):  # DuckDB puts the name of its log before it, as before the parameters of an address
        detail = f"{path} has a question mark in its path, where DuckDB would look for its log in another place"
        raise Rejected(Reason.WAREHOUSE_NAME, detail)
    twin = _twin(path)
    if twin is not None:
        detail = f"{twin} is a warehouse too, called the same but for its suffix: {published} would be the copy of both"
        raise Rejected(Reason.WAREHOUSE_NAME, f"{path}: {detail}")


def _twin(path: Path) -> Path | None:
    """Another warehouse of that folder whose published copy and data folder would be the same."""
    return next((one for one in written_as(path.parent, path.stem) if one != path), None)


def written_as(folder: Path, stem: str) -> list[Path]:
    """The warehouses of a folder, by name, that are called so but for their suffix: that have a lock."""
    try:
        names = os.listdir(folder)
    except OSError:  # a folder that cannot be listed says nothing; whether it can be written to shows in a moment
        return []
    locked = [name.removesuffix(LOCK_SUFFIX) for name in names if name.startswith(stem) and name.endswith(LOCK_SUFFIX)]
    return [one for one in map(folder.joinpath, sorted(locked)) if one.stem == stem and one.is_file()]
