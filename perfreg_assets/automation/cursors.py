"""Cursors of sensors: what a sensor remembers between ticks, kept by Dagster as text that anybody may edit.

A cursor is a shortcut and never the only place of a fact, so one that cannot be read is the same as none.
"""

from __future__ import annotations

import logging
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

_LOG = logging.getLogger(__name__)

_Kind = TypeVar("_Kind")


def read_cursor(cursor: str | None, kind: type[_Kind]) -> _Kind | None:
    """The cursor as `kind`; None for no cursor, for one of an earlier release and for one that somebody broke."""
    if not cursor:
        return None
    try:
        found: _Kind = TypeAdapter(kind).validate_json(cursor)
    except ValidationError:
        _LOG.warning("a cursor cannot be read as %s and starts afresh: %.100r", kind, cursor)
        return None
    return found
