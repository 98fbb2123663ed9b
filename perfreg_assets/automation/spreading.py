"""Traces → series on many machines: what a worker does with a folder, and what the one writer does with results.

A worker knows the exchange and nothing else; the writer knows the exchange and the warehouse. Both may be killed
anywhere and do again what they did before: see `model.handover`.
"""

from __future__ import annotations

import logging
import os
import tempfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from perfreg_assets.automation.fetching import fetch, kept_as, refused_part
from perfreg_assets.collection import registry
from perfreg_assets.collection.registry import Examined
from perfreg_assets.collection.run_folder import RUN_JSON
from perfreg_assets.how_many import how_many
from perfreg_assets.model import freshness, handover, inputs, inspecting, profile_shelf, readings
from perfreg_assets.model.freshness import Due, Stage
from perfreg_assets.model.handover import INBOX, RUNS, WANTED, Contents, Result
from perfreg_assets.model.places_health import remove_dead_scratch, signed_scratch
from perfreg_assets.model.profile_shelf import Shelf
from perfreg_assets.model.readings import Reading
from perfreg_assets.model.trace_places import found_again, kept_in, placeless
from perfreg_assets.near_names import did_you_mean
from perfreg_assets.objects import Objects, Stored
from perfreg_assets.partitions import to_key
from perfreg_assets.provenance import code_version
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces.engines import Engines
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse import traces as trace_table
from perfreg_assets.warehouse.attachments import AttachmentRow
from perfreg_assets.warehouse.connection import Reader, Warehouse, Writer
from perfreg_assets.whole_files import write_whole

Tell = Callable[[str], None]
_LOG = logging.getLogger(__name__)
_WRONG_CLOCK_S = 3600.0  # so far in the future is no clock that goes a little fast
_SCRATCH = "perfreg-worker-"


def exchange(settings: Settings) -> Objects:
    """Raises Rejected: EXCHANGE_UNSET, EXCHANGE_UNAVAILABLE."""
    if not settings.exchange:
        raise Rejected(Reason.EXCHANGE_UNSET, "")
    return handover.opened(settings.exchange)


# ---- a worker ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Task:
    """A folder that waits for a worker.

    Attributes:
        signature: changes with the folder's files.
        changed_at: seconds since the epoch.
        has_run_json: whether its run.json is there.
    """

    folder: str
    signature: str
    changed_at: float
    has_run_json: bool = True

    def is_quiet(self, settle_s: float, now: float) -> bool:
        """Whether nothing changed for that long, or by a clock that goes wrong."""
        age = now - self.changed_at
        return age >= settle_s or age <= -_WRONG_CLOCK_S

    def is_ready(self, settle_s: float, now: float) -> bool:
        """Whether nothing more is to come, as far as one look tells: what is registered is whole."""
        return self.folder.startswith(f"{RUNS}/") or self.is_quiet(settle_s, now)

    def is_as(self, before: Task) -> bool:
        """Whether nothing changed since an earlier look, where that means that nothing more is to come: a folder
        without run.json is refused only when it has been quiet."""
        return self.has_run_json and self.signature == before.signature


def waiting(objects: Objects) -> list[Task]:
    """Folders that have no result yet: arrived ones, then those that are to be read again; oldest name first."""
    have = set(handover.pending(objects))
    arrived: dict[str, list[Stored]] = {}
    for one in objects.listing(INBOX):
        parts = one.name.split("/")
        # A file in the inbox itself belongs to no folder, nor does what has no name.
        if len(parts) > 2 and parts[1] and not parts[1].startswith(".") and not one.is_marker:
            arrived.setdefault("/".join(parts[:2]), []).append(one)
    tasks = [
        Task(
            folder,
            f"{zlib.crc32(repr([(one.name, one.size, one.tag, one.changed_at) for one in files]).encode()):08x}",
            max(one.changed_at for one in files),
            f"{folder}/{RUN_JSON}" in {one.name for one in files},
        )
        for folder, files in arrived.items()
    ]
    wanted = [
        Task(f"{RUNS}/{one.name.removeprefix(f'{WANTED}/')}", one.tag, one.changed_at)
        for one in objects.listing(WANTED)
    ]
    return [task for task in (*tasks, *wanted) if task.folder not in have]


def named(objects: Objects, names: Iterable[str]) -> list[str]:
    """The folders that somebody means: as the exchange calls them, or by what follows `inbox/` or `runs/`, or by the
    id of a run that is to be read again.

    Raises:
        Rejected: EXCHANGE_FOLDER_UNKNOWN, with the nearest that wait.
    """
    by_name: dict[str, str] = {}
    for task in waiting(objects):
        name = task.folder.partition("/")[2]
        also = [name.rpartition(".")[0]] if task.folder.startswith(f"{RUNS}/") else []
        for one in (task.folder, name, *also):
            by_name.setdefault(one, task.folder)
    found: list[str] = []
    for name in names:
        folder = by_name.get(name.rstrip("/"), name.rstrip("/"))
        if folder not in by_name and not (_is_of_exchange(folder) and objects.listing(folder)):
            like = did_you_mean(name, by_name)
            raise Rejected(Reason.EXCHANGE_FOLDER_UNKNOWN, f"{name!r} is not in {objects.url}{like}")
        found.append(folder)
    return list(dict.fromkeys(found))


def _is_of_exchange(folder: str) -> bool:
    place, _, name = folder.partition("/")
    return place in (INBOX, RUNS) and name not in ("", ".", "..") and "/" not in name


def share(folders: Iterable[str], number: int, count: int) -> list[str]:
    """The part of one of `count` workers that do not know of each other; `number` from 1 on."""
    return [folder for folder in folders if zlib.crc32(folder.encode()) % count == number - 1]


def read_folders(objects: Objects, settings: Settings, folders: Sequence[str], tell: Tell) -> dict[str, Result]:
    """Reads folders of the exchange and hands each over as soon as it is read; those with a result already are left,
    and those of the inbox that are not there any more.

    Raises:
        Rejected: of the first that could not be read: ENGINE_UNAVAILABLE, EXCHANGE_UNAVAILABLE, HOST_NO_SPACE,
            FOLDER_FAILED. The others were read, but where no engine starts or the exchange has stopped to answer.
    """
    settings, shelf = handover.with_parameters(objects, settings)
    have = set(handover.pending(objects))
    folders = [folder for folder in folders if folder not in have]

    if not folders:
        return {}
    remove_dead_scratch(_SCRATCH)

    over: list[Rejected] = []
    with Engines(settings) as engines, ThreadPoolExecutor(inspecting.usable_cores()) as pool:

        def read(folder: str) -> Result | Rejected | None:
            if over:
                return over[0]
            try:
                result = read_folder(objects, settings, folder, engines, shelf)
            except Rejected as rejected:
                if _is_of_all(objects, rejected):
                    over.append(rejected)
                tell(f"{folder}: {rejected}")
                return rejected
            except Exception as error:  # noqa: BLE001  (logged with its traceback, and told as the reason)
                _LOG.exception("%s: unexpected", folder)
                return Rejected(Reason.FOLDER_FAILED, f"{folder}: {type(error).__name__}: {error}")
            tell(f"{folder}: {'not there any more' if result is None else _found(result)}")
            return result

        results = dict(zip(folders, pool.map(read, folders), strict=True))
    failed = {folder: result for folder, result in results.items() if isinstance(result, Rejected)}
    for folder, rejected in failed.items():
        raise Rejected(
            rejected.reason,
            f"{len(failed)} of {how_many(len(folders), 'folder')} not read, the first is {folder}: {rejected.detail}",
        )
    return {folder: result for folder, result in results.items() if isinstance(result, Result)}


def _is_of_all(objects: Objects, rejected: Rejected) -> bool:
    """Whether what one folder met with would be met with by every other."""
    if rejected.reason is Reason.EXCHANGE_UNAVAILABLE:
        try:
            objects.listing(handover.result_folder(INBOX))
        except Rejected:
            return True
    return rejected.reason is Reason.ENGINE_UNAVAILABLE


def read_folder(
    objects: Objects, settings: Settings, folder: str, engines: Engines | None = None, shelf: Shelf | None = None
) -> Result | None:
    """Fetches one folder, looks at run and trace as a local ingest would, and hands the result over; None where it
    was in the inbox and is gone, or goes meanwhile: another worker read it, and the writer has it. What is there still
    waits still."""
    listing = [one for one in objects.listing(folder) if not one.is_marker]
    is_new = folder.startswith(f"{INBOX}/")
    if is_new and not listing:
        return None
    earlier = refused_part(objects, listing) if is_new else []
    listing = [*listing, *earlier]
    with signed_scratch(_SCRATCH) as scratch:
        local = scratch / PurePosixPath(folder).name
        local.mkdir()
        notes, is_going = fetch(objects, listing, local, settings)
        if is_new and is_going:
            return None
        examined = registry.examine(local, settings, to_key)
        if earlier:  # what was refused is known by that, and forgotten once it is a run
            examined = replace(examined, refused_as=handover.refused_of(earlier[0].name)[1])
        run, reading = examined.run, None
        if run is not None:
            inspection = inspecting.read_trace(run, settings, engines, folder=local, known=examined.trace, shelf=shelf)
            reading = readings.reading_of(run, inspection, settings, shelf or Shelf())
        if is_new:
            kept_in = (
                handover.archive_name(run)
                if run is not None
                else handover.refusal_name(examined.folder_name, examined.fingerprint)
            )
            # They are deleted when the result is committed: what was too much to be looked at is kept with the rest.
            try:
                for one in listing:
                    objects.copy(one.name, f"{kept_in}/{kept_as(handover.inside(one.name))}")
            except FileNotFoundError:
                return None
        result = _result(folder, listing, examined, notes, reading, settings)
        contents = Contents() if reading is None else Contents(reading.series, reading.threads, reading.slices)
        handover.write(objects, result, contents)
        return result


def _result(
    folder: str,
    listing: list[Stored],
    examined: Examined,
    notes: list[str],
    reading: Reading | None,
    settings: Settings,
) -> Result:
    rejected = examined.rejected
    return Result(
        folder=folder,
        files=handover.files_read(listing),
        folder_name=examined.folder_name,
        fingerprint=examined.fingerprint,
        refused_as=examined.refused_as,
        claims=examined.claims,
        reason_code=rejected.reason.code if rejected else None,
        detail=rejected.detail if rejected else None,
        run=examined.run,
        attachments=examined.attachments,
        notes=(*notes, *examined.notes),
        trace=reading.trace if reading else None,
        measurements=reading.measurements if reading else (),
        energies=reading.energies if reading else None,
        seconds=reading.seconds if reading else {},
        code_version=code_version("traces"),
        parameters_hash=inputs.trace_parameters(settings),
    )


def _found(result: Result) -> str:
    if result.trace is None:
        return f"refused [{result.reason_code}] {result.detail}"
    return result.trace.reason or "trace complete"


# ---- the writer ----------------------------------------------------------------------------------
@dataclass
class Committed:
    """What a call put into the warehouse.

    Attributes:
        runs: ids of runs whose reading is in the warehouse now.
        quarantined: (folder, sentence) of folders that are none, or whose run id is another run's.
        refused: (folder, sentence) of results that were thrown away; the folders are read again.
        kept: (folder, sentence) of what is in the warehouse, and in the exchange still.
    """

    runs: list[str] = field(default_factory=list)
    quarantined: list[tuple[str, str]] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    kept: list[tuple[str, str]] = field(default_factory=list)

    def __iadd__(self, other: Committed) -> Committed:
        self.runs += other.runs
        self.quarantined += other.quarantined
        self.refused += other.refused
        self.kept += other.kept
        return self

    def require_cleared(self) -> None:
        """Raises Rejected (EXCHANGE_NOT_CLEARED) where something could not be deleted from the exchange."""
        if self.kept:
            folder, sentence = self.kept[0]
            raise Rejected(Reason.EXCHANGE_NOT_CLEARED, f"{len(self.kept)} folders, the first is {folder}: {sentence}")


def commit(objects: Objects, settings: Settings, warehouse: Warehouse, tell: Tell) -> Committed:
    """Takes all results that wait into the warehouse, a transaction per `commit_results` of them.

    Afterwards workers are told what traces are to be read with, and which are to be read again.
    """
    done = Committed()
    if not settings.exchange_note_file.exists():
        settings.home_dir.mkdir(parents=True, exist_ok=True)
        write_whole(settings.exchange_note_file, f"{objects.url}\n".encode(), is_durable=True)
    looked_at: set[str] = set()
    while folders := [folder for folder in handover.pending(objects) if folder not in looked_at]:
        batch = folders[: settings.commit_results]
        looked_at.update(batch)
        done += _commit_batch(objects, settings, warehouse, batch, tell)
    if warehouse.published.exists():
        _note_found_again(settings, warehouse, tell)
        with warehouse.reading() as reader:
            in_force = settings_table.in_force(reader, settings)
            handover.publish_parameters(objects, in_force, profile_shelf.load(reader, in_force))
            ask_for(objects, to_read_again(reader, objects, settings, tell))
    handover.sweep(objects)
    return done


def _commit_batch(
    objects: Objects, settings: Settings, warehouse: Warehouse, folders: Sequence[str], tell: Tell
) -> Committed:
    done = Committed()
    if warehouse.published.exists():
        with warehouse.reading() as reader:
            settings = settings_table.in_force(reader, settings)
    taken: list[tuple[Result, Reading | None]] = []
    for folder in folders:
        try:
            result, contents = handover.read(objects, folder)
            handover.require_current(result, settings)
            _require_folder(result)
        except FileNotFoundError:  # another writer was quicker
            continue
        except Rejected as rejected:
            if rejected.reason not in (Reason.RESULT_UNREADABLE, Reason.RESULT_OUTDATED, Reason.TRACE_PLACE_MISSING):
                raise
            tell(f"refused: {rejected}")
            done.refused.append((folder, str(rejected)))
            if rejected.reason is Reason.TRACE_PLACE_MISSING:  # no worker would find it: see to_read_again
                objects.delete([_moved(folder, RUNS, WANTED)])
            handover.discard(objects, folder)
        else:
            taken.append((result, _reading(result, contents)))
    if taken:
        with warehouse.writing() as writer:
            done += _store(writer, taken, settings_table.in_force(writer, settings))
    done.kept += _clear_all(objects, [result for result, _ in taken], tell)
    for folder, sentence in done.quarantined:
        tell(f"quarantined {folder}: {sentence}")
    return done


def _reading(result: Result, contents: Contents) -> Reading | None:
    if result.trace is None:
        return None
    return Reading(
        result.trace,
        contents.series,
        result.measurements,
        contents.threads,
        contents.slices,
        result.energies,
        result.seconds,
    )


def _store(writer: Writer, taken: Sequence[tuple[Result, Reading | None]], settings: Settings) -> Committed:
    done = Committed()
    arrived = [(result, reading) for result, reading in taken if not _is_gone(result)]
    outcomes = registry.admit(writer, [_examined(result) for result, _ in arrived], _Exchange(), to_key)
    read: dict[str, Reading] = {}
    for (result, reading), outcome in zip(arrived, outcomes, strict=True):
        if outcome.rejected is not None:
            done.quarantined.append((result.folder, str(outcome.rejected)))
        elif reading is not None:
            read[reading.run_id] = reading
    readings.store(writer, list(read.values()), settings)
    trace_table.note_gone(writer, read, is_gone=False)
    gone = [_archived_id(result) for result, _ in taken if _is_gone(result)]
    trace_table.note_gone(writer, gone, is_gone=True)
    done.runs += read
    return done


def _is_gone(result: Result) -> bool:
    """Whether a registered run was to be read again and could not be: what was read of it before stays."""
    return result.run is None and result.folder.startswith(f"{RUNS}/")


def _require_folder(result: Result) -> None:
    """Raises Rejected (TRACE_PLACE_MISSING) where a registered run was to be read again and its folder was not there:
    that may be another exchange than the one that keeps it."""
    if _is_gone(result) and not result.files:
        raise placeless([_archived_id(result)])


def _archived_id(result: Result) -> str:
    return result.folder.removeprefix(f"{RUNS}/").rpartition(".")[0]


def _examined(result: Result) -> Examined:
    rejected = None
    if result.run is None:
        rejected = Rejected(next(one for one in Reason if one == result.reason_code), result.detail or "")
    return Examined(
        result.folder_name,
        result.fingerprint,
        claims=result.claims,
        run=result.run,
        rejected=rejected,
        attachments=result.attachments,
        notes=result.notes,
        refused_as=result.refused_as,
    )


class _Exchange:
    """A `registry.Archive`: the worker has put the files there before it handed the result over."""

    def holds(self, run: run_table.RunRow) -> bool:
        return True

    def take(self, one: Examined) -> tuple[list[AttachmentRow], list[str]]:
        return list(one.attachments), []


def _clear_all(objects: Objects, results: Iterable[Result], tell: Tell) -> list[tuple[str, str]]:
    """(folder, sentence) of those that could not be cleared away."""
    kept: list[tuple[str, str]] = []
    for result in results:
        try:
            if not _clear(objects, result):
                tell(f"{result.folder} changed after it was read: it stays, and is read again")
        except Rejected as rejected:  # this one's affair, or that of all: the others are tried either way
            if rejected.reason is not Reason.EXCHANGE_UNAVAILABLE:
                raise
            kept.append((result.folder, rejected.detail))
    return kept


def _clear(objects: Objects, result: Result) -> bool:
    """Deletes what is committed: the folder as it was read, and last the result, so that a crash repeats this.

    Returns:
        Whether the folder was still as it was read. Else it is left whole: part of it is none that can be read.
    """
    is_still = True
    if result.folder.startswith(f"{INBOX}/"):
        read = {one.name: one for one in result.files}
        now = objects.listing(result.folder)
        is_still = all(one.name in read and read[one.name].is_still(one) for one in now if not one.is_marker)
        if is_still:
            objects.delete([*read, *(one.name for one in now if one.is_marker)])
    else:
        objects.delete([_moved(result.folder, RUNS, WANTED)])
    handover.discard(objects, result.folder)
    return is_still


# ---- reading again -------------------------------------------------------------------------------
def read_elsewhere(reader: Reader, settings: Settings, due: Iterable[Due]) -> list[run_table.RunRow]:
    """Of what is due, the runs whose trace is to be read and does not lie on this machine: a worker's business."""
    rows = run_table.find(reader, [one.run_id for one in due if one.stage is Stage.TRACE], with_path=False)
    own = registry.RunsFolder(settings.runs_dir)
    return [row for row in rows.values() if not own.holds(row)]


def _note_found_again(settings: Settings, warehouse: Warehouse, tell: Tell) -> None:
    with warehouse.reading() as reader:
        found = found_again(reader, settings, newest_first=True)
    if found:
        with warehouse.writing() as writer:
            trace_table.note_gone(writer, found, is_gone=False)
        tell(f"{how_many(len(found), 'trace')} that had been noted as gone lie where they are kept, such as {found[0]}")


def to_read_again(reader: Reader, objects: Objects, settings: Settings, tell: Tell = lambda _: None) -> list[str]:
    """Names below `wanted/` of runs that workers are to read again and were not told so yet; of runs that the exchange
    has no folder of it is told instead."""
    due = read_elsewhere(reader, settings, freshness.due(reader, settings, upto=Stage.TRACE))
    kept = kept_in(objects, due)
    if left := [row.run_id for row in due if row.run_id not in kept]:
        tell(str(placeless(left)))
    names = [_moved(handover.archive_name(row), RUNS, WANTED) for row in due if row.run_id in kept]
    there = {one.name for one in objects.listing(WANTED)} if names else set()
    return [name for name in names if name not in there]


def ask_for(objects: Objects, names: Iterable[str]) -> None:
    for name in names:
        objects.write(name, b"")


def _moved(name: str, source: str, target: str) -> str:
    return f"{target}/{name.removeprefix(f'{source}/')}"


# ---- for people ----------------------------------------------------------------------------------
def fetch_run(objects: Objects, settings: Settings, warehouse: Warehouse, run_id: str) -> bool:
    """Brings a registered run's files from the exchange to this machine; whether they are here then."""
    with warehouse.reading() as reader:
        run = run_table.find(reader, [run_id], with_path=False).get(run_id)
    if run is None:
        return False
    target = settings.runs_dir / run_id
    archive = handover.archive_name(run)
    listing = objects.listing(archive)
    if not listing:
        return target.exists()
    settings.runs_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=f".{run_id}.", suffix=f".{os.getpid()}.part", dir=settings.runs_dir
    ) as scratch:
        local = Path(scratch) / run_id
        local.mkdir()
        fetch(objects, listing, local, settings)
        with suppress(OSError):  # somebody else was quicker
            local.rename(target)
    return target.exists()
