"""What people say about runs. Reviews are added, never changed; the last one of a run is in force."""

from __future__ import annotations

from perfreg_assets.warehouse.connection import Writer
from perfreg_assets.warehouse.named import require_run
from perfreg_assets.warehouse.rows import now_utc

STATUSES = ("confirmed", "rejected", "accepted")


def add(writer: Writer, run_id: str, status: str, *, note: str | None = None, reviewer: str | None = None) -> None:
    """Adds a review: confirmed (a regression), rejected (a false alarm) or accepted (the new normal).

    Raises:
        Rejected: RUN_UNKNOWN.
        ValueError: another status.
    """
    if status not in STATUSES:
        raise ValueError(f"status {status!r}: allowed is {', '.join(STATUSES)}")
    require_run(writer, run_id)
    writer.execute(
        "INSERT INTO core.reviews (reviewed_at, run_id, status, note, reviewer) VALUES (?, ?, ?, ?, ?)",
        [now_utc(), run_id, status, note, reviewer],
    )
