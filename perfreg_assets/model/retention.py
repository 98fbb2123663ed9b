"""Traces that nobody needs any more are deleted, where the setting `keep_traces` says so.

Only the trace: the run, its run.json and attachments, its series, thread times, energies and verdicts stay. A trace
that anything may still be explained by is never deleted: that of a run which is not normal, was reviewed or had
functional problems, those of the runs in its history, and the latest ones, which are the history of the next run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from perfreg_assets.file_stamps import bytes_elsewhere
from perfreg_assets.model import freshness
from perfreg_assets.model.archiving import one_at_a_time
from perfreg_assets.model.handover import archive_name, opened
from perfreg_assets.objects import Objects
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import retention as table
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse import traces as trace_table
from perfreg_assets.warehouse.connection import Reader, Warehouse
from perfreg_assets.warehouse.runs import RunRow

ALL, ANOMALOUS = "all", "anomalous"


@dataclass(frozen=True)
class Dropped:
    """A trace that was deleted, here and in the exchange; `bytes_before` None: it was not there any more;
    `bytes_elsewhere`: those of them that another folder still has."""

    run_id: str
    bytes_before: int | None
    bytes_elsewhere: int = 0


def due_runs(reader: Reader, settings: Settings) -> list[str]:
    """Ids of the runs whose trace is to be deleted now: none while the setting says that all are kept."""
    settings = settings_table.in_force(reader, settings)
    if settings.keep_traces == ALL:
        return []
    days = 0.0 if settings.keep_traces == ANOMALOUS else float(settings.keep_traces)
    found = table.not_needed(reader, days=days, latest=settings.history_size)
    # What is due would have to be computed from the trace first.
    waiting = {one.run_id for one in freshness.due(reader, settings)} if found else set()
    return [run_id for run_id in found if run_id not in waiting]


def drop_due(
    warehouse: Warehouse, settings: Settings, progress: Callable[[str], object] = lambda _: None
) -> list[Dropped]:
    """Deletes the traces that are due, and notes that they are gone.

    Killed in between, some are gone that the warehouse does not know to be: the next call notes them.

    Raises:
        OSError: one cannot be deleted; those before it are noted.
        Rejected: EXCHANGE_UNAVAILABLE; as above. WAREHOUSE_LOCKED: traces are being reduced or deleted already.
    """
    with warehouse.reading() as reader:
        if settings_table.in_force(reader, settings).keep_traces == ALL:  # so that it waits for no archive
            return []
    with one_at_a_time(settings):
        return _drop_due(warehouse, settings, progress)


def _drop_due(warehouse: Warehouse, settings: Settings, progress: Callable[[str], object]) -> list[Dropped]:
    with warehouse.reading() as reader:
        rows = run_table.find(reader, due_runs(reader, settings), with_path=False)
    objects = opened(settings.exchange) if settings.exchange and rows else None
    dropped: list[Dropped] = []
    try:
        for run_id, row in rows.items():
            progress(run_id)
            dropped.append(_drop(row, settings, objects))
    finally:
        if dropped:
            with warehouse.writing() as writer:
                trace_table.note_gone(writer, [one.run_id for one in dropped], is_gone=True)
    return dropped


def _drop(row: RunRow, settings: Settings, objects: Objects | None) -> Dropped:
    """Deletes the trace of a registered run wherever it is kept."""
    assert row.trace_file is not None
    path = settings.runs_dir / row.run_id / row.trace_file
    sizes = [path.lstat().st_size if path.exists() else None]
    if objects is not None:
        name = f"{archive_name(row)}/{row.trace_file}"
        sizes.append(objects.size(name))
        objects.delete([name])
    elsewhere = bytes_elsewhere(path)
    path.unlink(missing_ok=True)
    found = [size for size in sizes if size is not None]
    return Dropped(row.run_id, sum(found) if found else None, elsewhere)
