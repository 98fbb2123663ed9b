"""Endurance collections that were killed or cut off: what was fetched of them since is judged, and the rest dropped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from perfreg_assets.model.watching import KILLED, STATUS, TraceWatch
from perfreg_assets.settings import Settings
from perfreg_assets.traces.event_types import survey
from perfreg_assets.traces.spool import find_spool

UNJUDGED = "unjudged"
"""Begins the names of what was fetched (`collection.salvage`): `unjudged.perfetto-trace` is what a recording that was
read while it grew had left, the others are recordings of their own."""


def left_over(folders: Iterable[Path]) -> list[Path]:
    """The collections in some folders of which something was fetched that was not judged. What the device still has is
    fetched first: a collection whose recording may still come is none of them."""
    return [
        folder
        for place in folders
        if place.is_dir()
        for folder in sorted(place.iterdir())
        if folder.is_dir() and (folder / STATUS).exists() and _files(folder) and find_spool(folder) is None
    ]


def resume(folder: Path, settings: Settings) -> TraceWatch:
    """Judges what is left over in the folder of a collection; it is deleted when what is unusual of it is stored.

    Raises:
        Rejected: REFERENCE_TOO_SHORT: the recording ended before it was known what is usual; SOURCE_MISSING, TRACE_…:
            nothing is deleted then.
    """
    state = json.loads((folder / STATUS).read_text("utf-8"))["state"]
    watch = TraceWatch.resumed(folder, settings)
    files = _files(folder)
    limit = settings.trace_max_bytes
    ordered = sorted(files, key=lambda path: survey(path, limit).start_ns)
    for path in ordered:
        take = watch.take_rest if path.name == f"{UNJUDGED}.perfetto-trace" else watch.take_file
        take(path, is_last=path == ordered[-1])
    watch.finish(KILLED if state == "recording" else state, source=folder.name)
    watch.forget()
    for path in files:
        path.unlink()
    return watch


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{UNJUDGED}*.perfetto-trace"))
