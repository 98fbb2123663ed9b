"""Measurements: values without a time axis, of a run or another subject, and why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from perfreg_assets import __version__
from perfreg_assets.warehouse import run_conditions
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import Table, insert, load, now_utc, to_arrow

RUN = "run"  # the kind of subject whose id is a run's


@dataclass(frozen=True, kw_only=True)
class MeasurementRow:
    """A row of core.measurements: `value` in `unit`, or None with the reason why there is none.

    `provenance` tells what it was made from; `{"judged": false}` in it takes the metric out of verdicts.
    """

    subject_kind: str
    subject_id: str
    metric: str
    app: str
    version_name: str
    unit: str
    worse: str
    value: float | None
    reason: str | None = None
    provenance: dict[str, Any] | None = None
    code_version: str = __version__
    measured_at: datetime = field(default_factory=now_utc)


_MEASUREMENTS = Table(
    "core.measurements", MeasurementRow, ("subject_kind", "subject_id"), keys=("subject_kind", "subject_id", "metric")
)
_OF_RUNS = replace(_MEASUREMENTS, numbers=(("run_no", "subject_id"),))


def replace_subjects(
    writer: Writer, subject_kind: str, subject_ids: Iterable[str], rows: Sequence[MeasurementRow]
) -> int:
    """Makes these the only measurements of some subjects (those without any lose theirs); the number stored."""
    condition, bound = _of_subjects(writer, subject_kind, subject_ids)
    writer.execute(f"DELETE FROM core.measurements WHERE {condition}", bound)
    table = _OF_RUNS if subject_kind == RUN else _MEASUREMENTS
    return insert(writer, table, to_arrow(rows, MeasurementRow)) if rows else 0


def find(reader: Reader, subject_kind: str, subject_ids: Iterable[str]) -> dict[tuple[str, str], MeasurementRow]:
    """(subject_id, metric) -> measurement, those without a value too."""
    rows = load(reader, _MEASUREMENTS, *_of_subjects(reader, subject_kind, subject_ids))
    return {(row.subject_id, row.metric): row for row in rows}


def _of_subjects(reader: Reader, subject_kind: str, subject_ids: Iterable[str]) -> tuple[str, list[Any]]:
    if subject_kind == RUN:
        return run_conditions.of(reader, subject_ids), []
    return "subject_kind = ? AND subject_id IN (SELECT unnest(?::VARCHAR[]))", [subject_kind, list(subject_ids)]
