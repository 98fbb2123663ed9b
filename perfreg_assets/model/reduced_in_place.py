"""Registered traces that are reduced and of which the warehouse does not know, as one of before it was restored: what
the document beside them says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from perfreg_assets.model.reduced_before import document_of
from perfreg_assets.model.reduction_document import row_of
from perfreg_assets.warehouse import archive
from perfreg_assets.warehouse.connection import Writer
from perfreg_assets.warehouse.runs import RunRow


def note(writer: Writer, row: RunRow, trace: Path, sha256: str) -> None:
    """Says that a run's trace is a reduced one; with how large it was and what its windows were, if that is told.

    Args:
        trace: where it lies among the registered ones; it need not be on this machine.
        sha256: of it as it is now.
    """
    made = document_of(trace)
    if made is None or (made.told["original_sha256"], made.told["sha256"]) != (row.trace_sha256, sha256):
        archive.note_found_reduced(writer, {row.run_id: sha256})
        return
    archive.note_reduced(writer, row.run_id, replace(row_of(made), is_in_place=True, reduced_file=str(trace)))
