"""The suite that comes with this package: 40 tests in Java of document 001's nine areas, in about 100 forms."""

from __future__ import annotations

import shutil
from pathlib import Path

from perfreg_assets.reasons import Reason, Rejected

FOLDER = Path(__file__).parent / "java_suite"
SUITE = FOLDER / "suite.xml"


def copy_to(folder: Path) -> Path:
    """Puts the suite with all its sources into a new folder, to be changed there; the path of its suite.xml.

    Raises:
        Rejected: SUITE_PATH: the folder is there and not empty, or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Rejected(Reason.SUITE_PATH, f"{folder} is there already and not empty")
    try:
        shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
    except OSError as error:
        raise Rejected(Reason.SUITE_PATH, f"{folder} cannot be written ({error.strerror})") from error
    return folder / SUITE.name
