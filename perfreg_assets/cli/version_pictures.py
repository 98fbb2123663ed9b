"""The worst series of each anomalous version as a small picture beside a comment that shows it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from perfreg_assets.cli.version_formats import Named, named
from perfreg_assets.named_files import write_named

if TYPE_CHECKING:
    from perfreg_assets.warehouse.connection import Reader


def write_pictures(
    reader: Reader, folder: Path, versions: Sequence[Mapping[str, Any]], runs: Sequence[Mapping[str, Any]]
) -> dict[Named, tuple[str, str]]:
    """Draws the worst series of each anomalous version by the verdicts in force.

    Args:
        folder: where to; made where it is missing.
        versions: rows of marts.version_verdicts.
        runs: rows of marts.verdicts, among them those of the versions' runs.

    Returns:
        (app, version) → the picture's address from the current folder, and what it shows in words; of those versions
        of which a series has a course to draw.
    """
    from perfreg_assets.reports.links import page_name
    from perfreg_assets.reports.pictures import picture_of_worst

    found: dict[Named, tuple[str, str]] = {}
    folder.mkdir(parents=True, exist_ok=True)
    for version in dict.fromkeys(named(row) for row in versions if row["is_anomalous"]):
        ids = sorted({row["run_id"] for row in runs if named(row) == version})
        picture = picture_of_worst(reader, ids)
        if picture is None:
            continue
        path = folder / f"{page_name(f'{picture.run_id}-{picture.series}')}.png"
        write_named(path, picture.png)
        address = quote(Path(os.path.relpath(path)).as_posix())
        found[version] = address, f"{version[1]}: {picture.caption}"
    return found
