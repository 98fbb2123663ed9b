"""Files of run folders besides run.json and trace: screenshots, videos, logs, profiles, registered by reference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfreg_assets.warehouse import run_conditions
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import OF_RUN, Table, delete_runs, insert, load, to_arrow


@dataclass(frozen=True, kw_only=True)
class AttachmentRow:
    """A row of core.attachments; the file lies in the registered run folder under `file_name`."""

    run_id: str
    file_name: str
    kind: str
    bytes: int
    sha256: str
    ts_ns: int | None


ATTACHMENTS = Table("core.attachments", AttachmentRow, ("run_id",), keys=("run_id", "file_name"), numbers=OF_RUN)


def replace(writer: Writer, run_ids: Iterable[str], rows: Sequence[AttachmentRow]) -> int:
    """Puts `rows` in place of whatever the named runs had; the number of rows."""
    delete_runs(writer, ATTACHMENTS.name, run_ids)
    return insert(writer, ATTACHMENTS, to_arrow(rows, AttachmentRow)) if rows else 0


PROFILES = ("method_trace", "call_stacks")
"""Kinds of files that tell causes."""


def of_runs(reader: Reader, run_ids: Iterable[str]) -> dict[str, list[AttachmentRow]]:
    """run_id -> its attachments in order of their moments, those without one last; every run is in the result."""
    found: dict[str, list[AttachmentRow]] = {run_id: [] for run_id in run_ids}
    condition = f"{run_conditions.of(reader, found)} ORDER BY run_id, ts_ns NULLS LAST, file_name"
    for row in load(reader, ATTACHMENTS, condition):
        found[row.run_id].append(row)
    return found


def profiles_of(reader: Reader, run_ids: Iterable[str]) -> dict[str, list[AttachmentRow]]:
    """run_id -> its profiles by name; every run is in the result."""
    found: dict[str, list[AttachmentRow]] = {run_id: [] for run_id in run_ids}
    condition = f"kind IN {PROFILES} AND {run_conditions.of(reader, found)} ORDER BY run_id, file_name"
    for row in load(reader, ATTACHMENTS, condition):
        found[row.run_id].append(row)
    return found
