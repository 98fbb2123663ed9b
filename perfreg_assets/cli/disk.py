"""What a command that failed for want of room says: which disk is full, instead of what broke because of it."""

from __future__ import annotations

import errno
import shutil
import tempfile
from pathlib import Path

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings

_FULL_BYTES = 1 << 20
_SAID = ("no space left", "disk is full", "disk full", "disk quota", "enospc")


def disk_full(error: BaseException, settings: Settings) -> str | None:
    """One sentence with the places that are full, where that is why a command failed; None where it is not.

    A warehouse that is missing after a command that makes one counts: its steps failed, each with its own words.
    """
    if isinstance(error, Rejected) and error.reason in (Reason.WAREHOUSE_MISSING, Reason.WAREHOUSE_UNPUBLISHED):
        return sentence(settings) if _full(settings) else None  # that it is missing, and how to make one, says nothing
    return sentence(settings, str(error)) if _is_said(error) else None


def sentence(settings: Settings, because: str = "") -> str:
    """The places that are full by now, what broke because of it, and what to do.

    Args:
        because: what failed, in its own words; where it says what to do, nothing is added.
    """
    if Reason.WAREHOUSE_DISK_FULL.sentence in because:
        return because
    where = f"no room in {', '.join(_full(settings)) or 'a folder'}"
    return f"{where}{f' ({because})' if because else ''}: {Reason.WAREHOUSE_DISK_FULL.sentence}"


def says_so(text: str) -> bool:
    """Whether an error in these words comes of a full disk."""
    return any(said in text.lower() for said in _SAID)


def _is_said(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if isinstance(error, Rejected):
            return False  # it says what is full, where that is why
        if says_so(str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


def _full(settings: Settings) -> list[str]:
    """The places without room, one per disk."""
    from perfreg_assets.warehouse.connection import Warehouse

    places = {
        "the folder of the warehouse": settings.warehouse.absolute().parent,
        "the home": settings.home_dir,
        "the temporary folder": Path(tempfile.gettempdir()),
        "the data folder": Path(Warehouse.of(settings).data.root),
        "the folder of registered runs": settings.runs_dir,
        "Dagster's home": settings.dagster_home,
        "the folder of pages": settings.reports_dir,
        "the inbox": settings.inbox_dir,
    }
    found: dict[int, str] = {}
    for what, place in places.items():
        there = next(one for one in (place, *place.parents) if one.exists())
        if shutil.disk_usage(there).free < _FULL_BYTES:
            found.setdefault(there.stat().st_dev, f"{what} {place}")
    return list(found.values())
