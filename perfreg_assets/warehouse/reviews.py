"""What people say about runs. Reviews are added, never changed; the last one of a run is in force, unless it withdraws
what was said before: then none is. Readers ask `core.reviews_in_force`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import last_word
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.named import require_run
from perfreg_assets.warehouse.rows import now_utc

STATUSES = ("confirmed", "rejected", "accepted")
WITHDRAWN = "withdrawn"
"""Status of the row that takes back what was said before it."""

Subject = tuple[str, str]
"""Table of reviews and its column with the key of what is reviewed."""
RUNS: Subject = ("core.reviews", "run_id")
BENCHMARKS: Subject = ("core.benchmark_reviews", "benchmark_run_id")


@dataclass(frozen=True)
class Review:
    """What somebody said of a run, or that they withdrew it."""

    status: str
    note: str | None
    reviewer: str | None
    reviewed_at: datetime


def add(writer: Writer, run_id: str, status: str, *, note: str | None = None, reviewer: str | None = None) -> None:
    """Adds a review: confirmed (a regression), rejected (a false alarm) or accepted (the new normal).

    Raises:
        Rejected: RUN_UNKNOWN.
        ValueError: another status.
    """
    require_status(status)
    require_run(writer, run_id)
    append(writer, RUNS, run_id, status, note=note, reviewer=reviewer)


def withdraw(writer: Writer, run_id: str, *, note: str | None = None, reviewer: str | None = None) -> None:
    """Takes back what was said of a run: from then on it is as if nobody had reviewed it.

    Raises:
        Rejected: RUN_UNKNOWN, REVIEW_MISSING.
    """
    require_run(writer, run_id)
    append_withdrawal(writer, RUNS, run_id, note=note, reviewer=reviewer)


def in_force(reader: Reader, run_id: str) -> Review | None:
    """The review of a run that counts."""
    rows = reader.rows(
        "SELECT status, note, reviewer, reviewed_at FROM core.reviews_in_force WHERE run_id = ?", [run_id]
    )
    return Review(*rows[0]) if rows else None


def told(reader: Reader, run_id: str) -> list[Review]:
    """All that was ever said of a run, the latest first."""
    return [
        Review(*row)
        for row in reader.rows(
            "SELECT status, note, reviewer, reviewed_at FROM core.reviews WHERE run_id = ? ORDER BY reviewed_at DESC",
            [run_id],
        )
    ]


def require_status(status: str) -> None:
    """Raises ValueError unless it is one that says something of a run."""
    if status not in STATUSES:
        raise ValueError(f"status {status!r}: allowed is {', '.join(STATUSES)}")


def append(writer: Writer, subject: Subject, key: str, status: str, *, note: str | None, reviewer: str | None) -> None:
    """Adds a row, which is the last one whatever the clock says: the last word counts, though a clock was set back."""
    table, column = subject
    number, of_run = (
        (", run_no", ", (SELECT run_no FROM core.runs WHERE run_id = $key)") if subject == RUNS else ("", "")
    )
    writer.execute(
        f"INSERT INTO {table} (reviewed_at, {column}, status, note, reviewer{number}) SELECT "
        f"{last_word.moment(table, 'reviewed_at', f'{column} = $key')}, $key, $status, $note, $reviewer{of_run}",
        {"now": now_utc(), "key": key, "status": status, "note": note, "reviewer": reviewer},
    )


def append_withdrawal(writer: Writer, subject: Subject, key: str, *, note: str | None, reviewer: str | None) -> None:
    """Raises Rejected (REVIEW_MISSING) when there is nothing to withdraw."""
    table, column = subject
    if not writer.value(f"SELECT count(*) FROM {table}_in_force WHERE {column} = ?", [key]):
        raise Rejected(Reason.REVIEW_MISSING, f"'{key}'")
    append(writer, subject, key, WITHDRAWN, note=note, reviewer=reviewer)
