"""Keeps an archive of runs small: registered traces of normal runs are reduced in place after some days.

Series, thread times, energies and verdicts were computed from the whole trace and stay as they are: a reduced trace is
never read for them again. What the windows are judged by is made of the normal runs of the same app and configuration,
once, and stored as a reference. Anomalous and reviewed runs, and those with functional problems, keep their traces.
"""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from perfreg_assets.file_stamps import bytes_elsewhere
from perfreg_assets.model import freshness, reduced_in_place
from perfreg_assets.model.reduction import reduce_once
from perfreg_assets.model.reduction_document import row_of
from perfreg_assets.model.references import learned_of, reference_of, require_usable
from perfreg_assets.model.trace_places import in_exchange
from perfreg_assets.model.trace_source import Source
from perfreg_assets.model.window_judging import Learned
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces.gate import sha256_of
from perfreg_assets.traces.reduced import DOCUMENT, is_reduced_file
from perfreg_assets.warehouse import archive as table
from perfreg_assets.warehouse import reductions, references, settings_table
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse.connection import Reader, Warehouse
from perfreg_assets.warehouse.lock import file_lock
from perfreg_assets.warehouse.runs import RunRow

MADE_IN = ".reduced"
LOCK = "archiving.lock"
_REFERENCE_RUNS = 12
_WORTH_IT = 0.9  # of its size: a trace that does not become smaller stays whole

Progress = Callable[[str], object]


@dataclass(frozen=True)
class Archived:
    """What became of a run's trace; `reason` says why it stays whole, `bytes_elsewhere` are those of the whole one that
    another folder still has."""

    run_id: str
    bytes_before: int | None = None
    bytes_after: int | None = None
    reason: str | None = None
    bytes_elsewhere: int = 0


@dataclass(frozen=True)
class Archiving:
    """`done`: what became of the traces that were due; `in_exchange`: see `Due`."""

    done: list[Archived]
    in_exchange: int


@dataclass(frozen=True)
class Due:
    """Ids of the runs whose trace is to be reduced now; `in_exchange`: how many more would be, were they not there."""

    run_ids: list[str]
    in_exchange: int


def due_runs(reader: Reader, settings: Settings, keys: Iterable[str] | None = None) -> Due:
    """None while the setting says never.

    Raises:
        Rejected: EXCHANGE_UNAVAILABLE.
    """
    old = _old_enough(reader, settings, keys)
    elsewhere = in_exchange(run_table.find(reader, old, with_path=False).values(), settings)
    return Due([run_id for run_id in old if run_id not in elsewhere], len(elsewhere))


def _old_enough(reader: Reader, settings: Settings, keys: Iterable[str] | None) -> list[str]:
    settings = settings_table.in_force(reader, settings)
    if settings.reduction_after_days <= 0:
        return []
    keys = None if keys is None else list(keys)
    found = table.normal_runs(reader, days=settings.reduction_after_days, keys=keys)
    # What is due would have to be computed from the whole trace first.
    waiting = {one.run_id for one in freshness.due(reader, settings, keys)} if found else set()
    return [run_id for run_id in found if run_id not in waiting]


def archive_due(
    warehouse: Warehouse, settings: Settings, keys: Iterable[str] | None = None, progress: Progress = lambda _: None
) -> Archiving:
    """Reduces the traces that are due in some partitions (default: all).

    Each trace is replaced when the warehouse says so: killed in between, the next call does what is left.

    Raises:
        Rejected: WAREHOUSE_LOCKED: another one is at it.
    """
    with one_at_a_time(settings):
        return _archive_due(warehouse, settings, keys, progress)


@contextmanager
def one_at_a_time(settings: Settings) -> Iterator[None]:
    """Held by who replaces or deletes a home's traces, and asks within it which are due: two would write the same
    files, or put a reduced trace in the place of a deleted one.

    Raises:
        Rejected: WAREHOUSE_LOCKED: another one is at it.
    """
    settings.home_dir.mkdir(parents=True, exist_ok=True)
    lock = settings.home_dir / LOCK
    with file_lock(lock, timeout_s=settings.lock_timeout_s, what=f"the archive in {settings.runs_dir}"):
        yield


def _archive_due(warehouse: Warehouse, settings: Settings, keys: Iterable[str] | None, progress: Progress) -> Archiving:
    keys = None if keys is None else list(keys)
    with warehouse.reading() as reader:
        settings = settings_table.in_force(reader, settings)
        reduced = table.reduced_runs(reader)
        gone = table.gone_of(reader, reduced)
        for run_id, row in run_table.find(reader, reduced, with_path=False).items():
            if run_id in gone:  # or what a killed call had made of it would come back
                shutil.rmtree(settings.runs_dir / run_id / MADE_IN, ignore_errors=True)
            else:
                _put_in_place(settings.runs_dir / run_id, row)
        due = due_runs(reader, settings, keys)
        rows = run_table.find(reader, due.run_ids, with_path=False)
    rows = _without_reduced(warehouse, settings, rows)
    groups: dict[tuple[str, str], list[RunRow]] = defaultdict(list)
    for row in rows.values():
        groups[row.app or "", row.config_hash or ""].append(row)
    done: list[Archived] = []
    for (app, config_hash), members in groups.items():
        there = [row for row in members if _trace(row, settings).is_file()]
        try:
            learned = _learned(warehouse, settings, f"{table.REFERENCE_PREFIX}{app}:{config_hash[:8]}", there)
        except Rejected as error:
            done += [Archived(row.run_id, reason=f"{error}") for row in members]
            continue
        for row in members:
            progress(row.run_id)
            done.append(_archive(warehouse, settings, row, learned) if row in there else Archived(
                row.run_id, reason=f"{_trace(row, settings)}: {Reason.TRACE_FILE_MISSING.sentence}"
            ))  # fmt: skip
    return Archiving(done, due.in_exchange)


def _without_reduced(warehouse: Warehouse, settings: Settings, rows: dict[str, RunRow]) -> dict[str, RunRow]:
    """The runs without those whose traces are reduced ones already, of which a restored warehouse is told."""
    traces = {run_id: _trace(row, settings) for run_id, row in rows.items()}
    reduced = {run_id: sha256_of(trace) for run_id, trace in traces.items() if is_reduced_file(trace)}
    if reduced:
        with warehouse.writing() as writer:
            for run_id, sha256 in reduced.items():
                reduced_in_place.note(writer, rows[run_id], traces[run_id], sha256)
    return {run_id: row for run_id, row in rows.items() if run_id not in reduced}


def _trace(row: RunRow, settings: Settings) -> Path:
    assert row.trace_file is not None
    return settings.runs_dir / row.run_id / row.trace_file


def _source(row: RunRow, settings: Settings) -> Source:
    return Source(_trace(row, settings), row.app, row.device, row.config_hash, row.exploration)


def _learned(warehouse: Warehouse, settings: Settings, name: str, rows: Sequence[RunRow]) -> Learned:
    """The reference of an app and configuration, made of these runs where there is none yet, or one of before that
    does not do any more.

    Raises:
        Rejected: REFERENCE_…, TRACE_…
    """
    with warehouse.reading() as reader:
        found = references.find(reader, name)
        if found is not None and not found.is_cut:
            return learned_of(reader, name, settings)[0]
    if not rows:
        raise Rejected(Reason.TRACE_FILE_MISSING, f"of {name} no trace is on this computer")
    made = reference_of(name, _usable(rows, settings), settings)
    with warehouse.writing() as writer:
        references.add(writer, made)
        return learned_of(writer, name, settings)[0]


def _usable(rows: Sequence[RunRow], settings: Settings) -> list[Source]:
    """The first traces that a reference can be made of: one that is damaged, or lost events, would keep all others of
    its app and configuration whole.

    Raises:
        Rejected: there is none; of the first.
    """
    found: list[Source] = []
    refused: list[Rejected] = []
    for row in rows:
        source = _source(row, settings)
        try:
            require_usable(source, settings)
        except Rejected as error:
            refused.append(error)
            continue
        found.append(source)
        if len(found) == _REFERENCE_RUNS:
            break
    if not found:
        raise refused[0]
    return found


def _archive(warehouse: Warehouse, settings: Settings, row: RunRow, learned: Learned) -> Archived:
    folder = settings.runs_dir / row.run_id
    shutil.rmtree(folder / MADE_IN, ignore_errors=True)
    try:
        made = reduce_once(_source(row, settings), folder / MADE_IN, settings, learned)
    except Rejected as error:
        shutil.rmtree(folder / MADE_IN, ignore_errors=True)
        return Archived(row.run_id, reason=f"{error}")
    before, after = made.told["bytes_before"], made.told["bytes_after"]
    is_worth_it = after <= _WORTH_IT * before
    # Names of a run's traces below its folder hold in whatever place the folder is.
    stored = replace(row_of(made), is_in_place=is_worth_it, reduced_file=str(_trace(row, settings)))
    with warehouse.writing() as writer:
        if is_worth_it:
            table.note_reduced(writer, row.run_id, stored)
        else:
            reductions.store(writer, stored)
    if not is_worth_it:
        shutil.rmtree(folder / MADE_IN)
        return Archived(row.run_id, before, reason=f"reduced it would have {after:,} of {before:,} bytes")
    elsewhere = bytes_elsewhere(_trace(row, settings))
    _put_in_place(folder, row)
    return Archived(row.run_id, before, after, bytes_elsewhere=elsewhere)


def _put_in_place(folder: Path, row: RunRow) -> None:
    """Moves the reduced trace over the whole one, where the warehouse says that it is reduced."""
    made = folder / MADE_IN
    if row.trace_file is None or not made.is_dir():
        return
    trace = folder / row.trace_file
    if (made / trace.name).exists():
        if (made / DOCUMENT).exists():  # a call that was killed between the two has moved it
            os.replace(made / DOCUMENT, folder / DOCUMENT)
        os.replace(made / trace.name, trace)
    shutil.rmtree(made)
