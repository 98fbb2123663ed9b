"""A collection of hours becomes a run: series and verdict are of the whole recording, the trace is what is kept of it.

What it is judged by was read before anything was dropped. From then on it is a run whose trace was reduced, as those of
an archive are: it is never read again, and stays in the histories of later runs of the same configuration.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from perfreg_assets.collection import registry
from perfreg_assets.collection.registry import RunsFolder
from perfreg_assets.collection.run_document import TRACE_NAME
from perfreg_assets.collection.run_folder import place_file, write_run_folder
from perfreg_assets.model import readings
from perfreg_assets.model.inspecting import screens_of
from perfreg_assets.model.profile_shelf import Shelf
from perfreg_assets.model.reduction_document import row_of
from perfreg_assets.model.watching import TraceWatch
from perfreg_assets.partitions import to_key
from perfreg_assets.run import POWER_PROFILE
from perfreg_assets.settings import Settings
from perfreg_assets.traces import reduced
from perfreg_assets.warehouse import archive, settings_table
from perfreg_assets.warehouse.connection import Warehouse

_STAGING = ".run"


def register(watch: TraceWatch, settings: Settings, warehouse: Warehouse, shelf: Shelf) -> str:
    """The run's id, of a collection that is complete and was read in parts.

    Args:
        shelf: power profiles that the parts were read with.

    Raises:
        Rejected: as for a run folder that cannot be registered.
    """
    assert watch.finished is not None
    assert watch.parts is not None
    made, told = watch.finished
    facts = made.facts
    staging = watch.folder / _STAGING
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    try:
        folder = _run_folder(watch, staging, told["run"])
        examined = registry.examine(folder, settings, to_key)
        if examined.rejected is not None:
            raise examined.rejected
        assert examined.run is not None
        assert examined.trace is not None
        # As of a run that was registered whole and reduced afterwards.
        run = replace(examined.run, trace_bytes=facts.file_bytes, trace_sha256=facts.sha256)
        unseen = [(one["start_ns"], one["end_ns"]) for one in told["unseen"]]
        found = watch.parts.joined(
            unseen, file_bytes=facts.file_bytes, sha256=facts.sha256, screens=screens_of(run.path or ()),
            profiles=shelf.for_run(run, watch.folder, settings),
        )  # fmt: skip
        stored = replace(
            row_of(made),
            is_in_place=True,
            reduced_sha256=examined.trace.sha256,
            reduced_file=str(settings.runs_dir / run.run_id / TRACE_NAME),
        )
        with warehouse.writing() as writer:
            (registration,) = registry.admit(
                writer, [replace(examined, run=run)], RunsFolder(settings.runs_dir), to_key
            )
            if registration.rejected is not None:
                raise registration.rejected
            readings.store(
                writer, [readings.reading_of(run, found, settings, shelf)], settings_table.in_force(writer, settings)
            )
            archive.note_reduced(writer, run.run_id, stored)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return run.run_id


def _run_folder(watch: TraceWatch, staging: Path, document: dict[str, object]) -> Path:
    """With all that is kept in one trace, one part behind the other: packets are what a trace is made of."""
    assert watch.finished is not None
    facts = watch.finished[0].facts
    whole = staging / TRACE_NAME
    with whole.open("wb") as target:
        if not watch.files:
            target.write(reduced.mark())
        for one in watch.files:
            with (watch.folder / one.name).open("rb") as source:
                shutil.copyfileobj(source, target)
    told = {
        **document, "trace": TRACE_NAME, "trace_bytes": facts.file_bytes, "trace_sha256": facts.sha256
    }  # fmt: skip
    files = {TRACE_NAME: whole}
    if (watch.folder / POWER_PROFILE).exists():
        place_file(watch.folder / POWER_PROFILE, staging / POWER_PROFILE)
        files[POWER_PROFILE] = staging / POWER_PROFILE
    return write_run_folder(staging / str(document["run_id"]), told, files)
