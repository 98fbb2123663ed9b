"""Traces that could not be read when causes were looked for: tried again when the file is another, or is there."""

from __future__ import annotations

from collections.abc import Iterable

from perfreg_assets.model.trace_places import state_of
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import unread_traces
from perfreg_assets.warehouse.connection import Reader


def readable_again(reader: Reader, settings: Settings, run_ids: Iterable[str] | None = None) -> dict[str, str]:
    """run_id → why its causes are to be looked for again, of those of some runs (default: all) where a file is not
    what it was when it could not be read."""
    found: dict[str, str] = {}
    if settings.exchange:  # each worker has other files
        return found
    for one in unread_traces.find(reader, run_ids):
        if state_of(one.member_id, one.file_name, settings) != one.file_state:
            found.setdefault(
                one.run_id, f"{one.file_name} of {one.member_id} could not be read, and is another file by now"
            )
    return found
