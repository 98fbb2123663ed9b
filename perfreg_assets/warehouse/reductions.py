"""What became of traces that were reduced: their windows, and what happened in each second."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from perfreg_assets import __version__
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import Table, now_utc, replace


@dataclass(frozen=True, kw_only=True)
class ReductionRow:
    """A row of core.reductions.

    Attributes:
        window_events, kls, scores, anomalous, kept, reasons: a value for each window, in their order; NaN
            where a window was not judged, an empty reason where it is as usual.
        second_events: {start_ns, is_kept, counts: type → events, running_s: process → s, rss_bytes: process → bytes} of
            each second.
        is_in_place: the reduced trace is in the place of the registered run's own.
    """

    original_sha256: str
    reduced_sha256: str
    run_id: str | None = None
    trace_file: str
    reduced_file: str
    reference_name: str | None
    reduction_mode: str
    window_s: float
    kl_maximum: float
    score_minimum: float
    bytes_before: int
    bytes_after: int
    kept_ratio: float
    window_count: int
    start_ns: int
    event_types: list[str]
    window_events: tuple[int, ...]
    kls: np.ndarray
    scores: np.ndarray
    anomalous: tuple[bool, ...]
    kept: tuple[bool, ...]
    reasons: tuple[str, ...]
    second_events: list[dict[str, Any]]
    is_in_place: bool = False
    code_version: str = __version__
    reduced_at: datetime = field(default_factory=now_utc)


REDUCTIONS = Table("core.reductions", ReductionRow, ("original_sha256",), ("original_sha256",))


_IN_PLACE = """
SELECT reduced.run_id
FROM core.reductions AS reduced
JOIN core.traces AS traces ON traces.run_id = reduced.run_id AND traces.reduced_sha256 = reduced.reduced_sha256
WHERE reduced.is_in_place AND reduced.original_sha256 = ?
"""


def run_reduced_in_place(reader: Reader, original_sha256: str) -> str | None:
    """The run whose own trace was this one, and is a reduced one now."""
    found = reader.value(_IN_PLACE, [original_sha256])
    return None if found is None else str(found)


def store(writer: Writer, row: ReductionRow) -> None:
    """Puts a reduction in place of an earlier one of the same trace; `run_id` is that of the run with this trace."""
    found = writer.rows(
        "SELECT run_id FROM core.runs WHERE trace_sha256 = ? AND NOT is_quarantined", [row.original_sha256]
    )
    known = dataclasses.replace(row, run_id=found[0][0] if found else None)
    replace(writer, REDUCTIONS, [known])


def note_runs(writer: Writer, runs: Mapping[str, str]) -> None:
    """Says whose the traces are that were reduced before their runs were taken in.

    Args:
        runs: SHA-256 of a trace → run_id.
    """
    writer.execute(
        "UPDATE core.reductions SET run_id = taken.run_id FROM "
        "(SELECT unnest($1::VARCHAR[]) AS trace_sha256, unnest($2::VARCHAR[]) AS run_id) AS taken "
        "WHERE original_sha256 = taken.trace_sha256 AND reductions.run_id IS DISTINCT FROM taken.run_id",
        [list(runs), list(runs.values())],
    )


def forget_in_place(writer: Writer, run_ids: Collection[str]) -> None:
    """Deletes the reductions that took the place of these runs' traces."""
    writer.execute("DELETE FROM core.reductions WHERE is_in_place AND list_contains(?, run_id)", [sorted(run_ids)])


def is_stored(reader: Reader, original_sha256: str, reduced_sha256: str) -> bool:
    """Whether there is a row of a trace that was reduced to this."""
    found = reader.rows(
        "SELECT 1 FROM core.reductions WHERE original_sha256 = ? AND reduced_sha256 = ?",
        [original_sha256, reduced_sha256],
    )
    return bool(found)
