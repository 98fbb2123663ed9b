"""What a command that failed for want of room says: which disk is full, instead of what broke because of it."""

from __future__ import annotations

import errno
import shutil
import tempfile
from pathlib import Path

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings

_FULL_BYTES = 1 << 20
_SAID = ("no space left", "disk is full", "disk quota", "enospc")


def disk_full(error: BaseException, settings: Settings) -> str | None:
    """One sentence with the places that are full, where that is why a command failed; None where it is not.

    A warehouse that is missing after a command that makes one counts: its steps failed, each with its own words.
    """
    full = [f"{what} {place}" for what, place in _places(settings).items() if _free(place) < _FULL_BYTES]
    is_missing = isinstance(error, Rejected) and error.reason is Reason.WAREHOUSE_MISSING
    if not _says_so(error) and not (is_missing and full):
        return None
    return f"no room in {', '.join(full) or 'a folder'} ({error}): {Reason.WAREHOUSE_DISK_FULL.sentence}"


def _says_so(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if isinstance(error, Rejected) and error.reason is not Reason.WAREHOUSE_MISSING:
            return False  # it says what is full, where that is why
        if any(said in str(error).lower() for said in _SAID):
            return True
        error = error.__cause__ or error.__context__
    return False


def _places(settings: Settings) -> dict[str, Path]:
    return {
        "the folder of the warehouse": settings.warehouse.absolute().parent,
        "the home": settings.home_dir,
        "the temporary folder": Path(tempfile.gettempdir()),
    }


def _free(place: Path) -> int:
    there = next(one for one in (place, *place.parents) if one.exists())
    return shutil.disk_usage(there).free
