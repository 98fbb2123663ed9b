"""Traces that could not be read when causes were looked for: tried again when the file is another, or is there; where
an engine could not read it, when its folder was given again, too."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from perfreg_assets.model.trace_places import states_of
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import unread_traces
from perfreg_assets.warehouse.connection import Reader

_LOG = logging.getLogger(__name__)


def readable_again(reader: Reader, settings: Settings, run_ids: Iterable[str] | None = None) -> dict[str, str]:
    """run_id → why its causes are to be looked for again, of those of some runs (default: all) where a file is not
    what it was when it could not be read, or was given again. An exchange that does not answer says nothing of what it
    keeps."""
    unread = unread_traces.find(reader, run_ids)
    if not unread:
        return {}
    members = run_table.find(reader, {one.member_id for one in unread}, with_path=False)
    wanted = [(members[one.member_id], one.file_name) for one in unread if one.member_id in members]
    try:
        now = states_of(wanted, settings)
    except Rejected as refusal:
        if refusal.reason is not Reason.EXCHANGE_UNAVAILABLE:
            raise
        _LOG.warning("whether traces can be read again is not known: %s", refusal)
        return {}
    found: dict[str, str] = {}
    for one in unread:
        if now.get((one.member_id, one.file_name), one.file_state) != one.file_state:
            is_given = one.file_state == unread_traces.GIVEN_AGAIN
            since = "its folder was given again" if is_given else "is another file by now"
            found.setdefault(one.run_id, f"{one.file_name} of {one.member_id} could not be read, and {since}")
    return found
