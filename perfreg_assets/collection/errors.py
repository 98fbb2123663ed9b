"""How a collection ends badly: one named reason, and the row that says so in the warehouse."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from perfreg_assets.reasons import Reason, Rejected


@dataclass(frozen=True)
class CollectionRecord:
    """One attempt to collect, successful or not: the columns of `core.collections`."""

    collection_id: str
    run_id: str | None
    app: str
    version_name: str
    build_hash: str | None
    attempt: int
    device_serial: str | None
    state: str
    """collected or failed"""
    reason_code: str | None
    reason: str | None
    trace_bytes: int | None
    duration_s: float | None
    bytes_per_minute: float | None
    leftover_path: str | None
    """What is still on the device, `; ` between several; None when nothing is."""
    started_at: datetime
    ended_at: datetime


class CollectionError(Rejected):
    """A collection that left no run folder; `record` is its row, `leftovers` what is still on the device.

    `is_interrupted`: whatever it failed by, it was told to end as well, and nothing more is to be begun.
    """

    def __init__(
        self,
        reason: Reason,
        detail: str,
        *,
        record: CollectionRecord,
        leftovers: tuple[str, ...] = (),
        is_interrupted: bool = False,
    ) -> None:
        super().__init__(reason, detail)
        self.record = record
        self.leftovers = leftovers
        self.is_interrupted = is_interrupted
