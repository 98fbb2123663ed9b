"""Attempts to collect runs from devices, and what they left behind there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import Table, load, replace


@dataclass(frozen=True, kw_only=True)
class CollectionRow:
    """A row of core.collections; a failed attempt has a reason, a collected one has none."""

    collection_id: str
    run_id: str | None
    app: str
    version_name: str
    build_hash: str | None = None
    attempt: int
    device_serial: str | None
    state: str
    reason_code: str | None = None
    reason: str | None = None
    trace_bytes: int | None = None
    duration_s: float | None = None
    bytes_per_minute: float | None = None
    leftover_path: str | None = None
    started_at: datetime
    ended_at: datetime


COLLECTIONS = Table("core.collections", CollectionRow, ("collection_id",))


def upsert(writer: Writer, rows: Sequence[CollectionRow]) -> int:
    """Stores attempts by their id."""
    return replace(writer, COLLECTIONS, rows)


def leftovers(reader: Reader) -> list[CollectionRow]:
    """Attempts with a file still on the device, oldest first."""
    return load(reader, COLLECTIONS, "leftover_path IS NOT NULL ORDER BY started_at, collection_id")


def swept(writer: Writer, collection_id: str) -> None:
    """Notes that the attempt's leftover is gone from the device."""
    writer.execute("UPDATE core.collections SET leftover_path = NULL WHERE collection_id = ?", [collection_id])
