"""Taking run folders in: each becomes a registered run, the same one again, or a quarantined one with its reason.

A registered folder is copied (hard-linked where possible) to `settings.runs_dir/<run_id>`, screenshots, video and
logs with it, so that the given folder may be moved or deleted afterwards. Files first, row second: a crash in
between leaves a copy that the next registration replaces, never a row without its trace.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from perfreg_assets.collection.attachments import Findings, find_attachments
from perfreg_assets.collection.run_folder import (
    RUN_JSON,
    TRACE_SUFFIXES,
    RunFolder,
    id_of_trace,
    leads_out,
    place_file,
    read_run_folder,
)
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.regular_file import open_regular, read_regular, resolved
from perfreg_assets.run import REFUSED, RUN_ID, explored_state_count, path_hash
from perfreg_assets.settings import Settings
from perfreg_assets.storable_text import once_only, storable
from perfreg_assets.traces.gate import FileFacts, check_file
from perfreg_assets.warehouse import archive as trace_archive
from perfreg_assets.warehouse import attachments as attachment_table
from perfreg_assets.warehouse import reductions, unread_traces
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import traces as trace_table
from perfreg_assets.warehouse.attachments import AttachmentRow
from perfreg_assets.warehouse.connection import Warehouse, Writer

KeyOf = Callable[[str, str], str]
Read = TypeVar("Read")

_STATED_OTHERWISE = frozenset({Reason.TRACE_SIZE_MISMATCH, Reason.TRACE_SHA256_MISMATCH})
_OTHER_TRACE_WANTED = _STATED_OTHERWISE | {
    Reason.TRACE_FILE_MISSING,
    Reason.TRACE_EMPTY,
    Reason.TRACE_NOT_PERFETTO,
    Reason.TRACE_GZIP_DAMAGED,
    Reason.TRACE_TRUNCATED,
    Reason.TRACE_CORRUPT,
}
"""Whoever does what these say puts another trace into the folder, or states of this one what holds."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Examined:
    """A folder as it was found: a run, or the reason why it is none and what it claims to be.

    Attributes:
        fingerprint: of a run its content hash.
        refused_as: what the folder's fingerprint was while its trace was not there yet, or not whole.
        folder, trace: where it lies and what its trace's bytes are, where it was examined on this machine.
    """

    folder_name: str
    fingerprint: str
    claims: dict[str, str]
    run: run_table.RunRow | None = None
    rejected: Rejected | None = None
    attachments: tuple[AttachmentRow, ...] = ()
    notes: tuple[str, ...] = ()
    refused_as: str | None = None
    folder: Path | None = None
    trace: FileFacts | None = None

    @property
    def place(self) -> Path:
        return self.folder or Path(self.folder_name)


@dataclass(frozen=True)
class Registration:
    """What became of one folder. `notes`: files of it that were left where they are, and why."""

    folder: Path
    run_id: str
    app: str | None
    version_name: str | None
    rejected: Rejected | None
    is_new: bool
    notes: tuple[str, ...] = ()


def find_run_folders(paths: Iterable[Path]) -> list[Path]:
    """The run folders among `paths`: a folder with run.json, or else the folders in it that look like a run.

    A path that is neither is returned as it is, so that it is told and not passed over.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        if os.path.exists(path / RUN_JSON) or not os.path.isdir(path):
            found.append(path)
            continue
        try:
            inside = [one for one in sorted(path.iterdir()) if os.path.isdir(one) and _looks_like_a_run(one)]
        except OSError:  # it may not be read
            inside = []
        found.extend(inside or [path])
    return found


def sort_out(
    folders: Iterable[Path], settings: Settings, key_of: KeyOf
) -> tuple[dict[str, list[RunFolder]], list[Path]]:
    """(runs by partition key in order of their start, folders that cannot be read as a run). No trace is read."""
    readable: list[tuple[RunFolder, str]] = []
    unreadable: list[Path] = []
    for folder in folders:
        run = _read(read_run_folder, folder, settings)
        if isinstance(run, Rejected):
            unreadable.append(folder)
        else:
            readable.append((run, key_of(run.app, run.version_name)))
    by_key: dict[str, list[RunFolder]] = {}
    for run, key in sorted(readable, key=lambda pair: (pair[0].started_at, pair[0].folder.name)):
        by_key.setdefault(key, []).append(run)
    return by_key, unreadable


def register(folders: Sequence[Path], settings: Settings, warehouse: Warehouse, key_of: KeyOf) -> list[Registration]:
    """Registers or quarantines folders, in one transaction; one bad folder does not stop the others."""
    examined = [examine(Path(folder), settings, key_of) for folder in folders]  # reads files: not under the lock
    with warehouse.writing() as writer:
        return admit(writer, examined, RunsFolder(settings.runs_dir), key_of)


def admit(writer: Writer, examined: Sequence[Examined], archive: Archive, key_of: KeyOf) -> list[Registration]:
    """Registers or quarantines folders that were examined, wherever that was; in their order."""
    ids = {run_id for one in examined for run_id in _possible_ids(one)}
    known = run_table.find(writer, ids)
    kept = attachment_table.of_runs(writer, ids)
    holders = run_table.of_traces(writer, [one.run for one in examined if one.run])
    before = dict(known)
    correctable = trace_table.incomplete(writer, known) | run_table.excluded(writer, known)
    rows: dict[str, run_table.RunRow] = {}
    registrations: list[Registration] = []
    told_otherwise: set[str] = set()
    for one in examined:
        try:
            registration, row = _admit(one, archive, known, kept, holders, correctable)
        except Rejected as rejected:
            registration, row = _quarantine(one, rejected, known, key_of)
        if registration.rejected is None or registration.rejected.reason is not Reason.FOLDER_GONE:
            told_otherwise |= _refused_ids(one) & before.keys()
        registrations.append(registration)
        if row is not None:
            known[row.run_id] = rows[row.run_id] = row
    run_table.upsert(writer, list(rows.values()))
    taken = [run for run in rows.values() if not run.is_quarantined]
    reductions.note_runs(writer, {run.trace_sha256: run.run_id for run in taken if run.trace_sha256})
    outcomes = list(zip(examined, registrations, strict=True))
    run_table.forget_refused(
        writer,
        told_otherwise,
        taken,
        files={(one.folder_name, sha256) for one in examined if (sha256 := _file_sha256(one))},
        reasons=[told for one, outcome in outcomes if not outcome.rejected for told in _former_conflicts(one)],
        kept={outcome.run_id for _, outcome in outcomes if outcome.rejected},
    )
    accepted = {one.run_id for one in registrations if not one.rejected}
    again = {one for one, row in rows.items() if one in before and _is_read_again(row, before[one])}
    trace_table.forget(writer, again | trace_table.unread_by_engine(writer, accepted & before.keys()))
    unread_traces.ask_again(writer, accepted & before.keys())
    trace_table.note_gone(writer, [run.run_id for run in taken], is_gone=False)
    trace_archive.note_whole(writer, [run.run_id for run in taken if run.run_id in before])
    attachment_table.replace(writer, rows, [one for run_id in rows for one in kept[run_id]])
    return registrations


def examine(folder: Path, settings: Settings, key_of: KeyOf) -> Examined:
    """Reads a folder, its trace and its attachments; what does not hold is in the result, not raised."""
    name = storable(folder.name)
    read = _read(_with_files, folder, settings)
    if isinstance(read, Rejected):
        if not os.path.lexists(folder):
            read = Rejected(Reason.FOLDER_GONE, name)
        is_trace_whole = read.reason not in _OTHER_TRACE_WANTED
        claims, trace_file = _claims(folder, settings, is_trace_whole=is_trace_whole)
        refused_as = _fingerprint(folder, settings, without=trace_file)
        fingerprint = _fingerprint(folder, settings) if is_trace_whole else refused_as
        trace = _as_found(folder, trace_file, settings) if read.reason in _STATED_OTHERWISE else None
        return Examined(
            name, fingerprint, claims=claims, rejected=read, refused_as=refused_as, folder=folder, trace=trace
        )
    run, found = read
    claims = {"app": run.app, "version_name": run.version_name}
    if run.stated_run_id is not None:
        claims["run_id"] = run.stated_run_id
    return Examined(
        name,
        run.content_hash,
        claims=claims,
        run=_row(run, name, key_of),
        attachments=found.attachments,
        notes=found.notes,
        refused_as=_fingerprint(folder, settings, without=run.trace_file),
        folder=folder,
        trace=run.trace,
    )


def _with_files(folder: Path, settings: Settings) -> tuple[RunFolder, Findings]:
    run = read_run_folder(folder, settings)
    _ = run.content_hash  # reads and checks the trace
    return run, find_attachments(run, settings)


def _read(how: Callable[[Path, Settings], Read], folder: Path, settings: Settings) -> Read | Rejected:
    """What is in a folder, or why it cannot be had. Whatever goes wrong in it is its own: the others go on."""
    try:
        return how(folder, settings)
    except Rejected as rejected:
        return rejected
    except Exception as error:  # noqa: BLE001  (logged with its traceback, and told as the reason)
        _LOG.exception("%s: unexpected", folder)
        return Rejected(Reason.FOLDER_FAILED, f"{folder.name}: {type(error).__name__}: {error}")


class Archive(Protocol):
    """Where the files of registered runs are kept."""

    def holds(self, run: run_table.RunRow) -> bool:
        """Whether the run's trace is there."""

    def take(self, one: Examined) -> tuple[list[AttachmentRow], list[str]]:
        """Keeps a run's files; the attachments that came along, and why others did not."""


class RunsFolder:
    """An `Archive` on this machine: a folder per run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def holds(self, run: run_table.RunRow) -> bool:
        return (self._folder / run.run_id / (run.trace_file or "")).is_file()

    def take(self, one: Examined) -> tuple[list[AttachmentRow], list[str]]:
        assert one.run is not None
        assert one.run.trace_file is not None
        assert one.folder is not None
        return _store(one.folder, one.run.trace_file, one.attachments, self._folder / one.run.run_id)


def _quarantine_id(fingerprint: str) -> str:
    return f"{REFUSED}{fingerprint[:16]}"


def _refused_ids(one: Examined) -> set[str]:
    """What the folder is in quarantine by, or was before: with the very same content, which was another run's id or
    trace, without its trace, or while it could not be read."""
    fingerprints = (one.fingerprint, one.refused_as, _fingerprint_unread(one.folder_name))
    return {_quarantine_id(fingerprint) for fingerprint in fingerprints if fingerprint}


def _possible_ids(one: Examined) -> set[str]:
    named = one.run.run_id if one.run else one.claims.get("run_id")
    return _refused_ids(one) | ({named} if named else set())


def _admit(
    one: Examined,
    archive: Archive,
    known: dict[str, run_table.RunRow],
    kept: dict[str, list[AttachmentRow]],
    holders: dict[str, str],
    correctable: set[str],
) -> tuple[Registration, run_table.RunRow | None]:
    """`kept` (attachments by run) and `holders` (run by content of its trace) are brought up to date with what is
    stored.

    Args:
        correctable: known runs on which nothing rests, because nothing can be judged of them or because somebody
            excluded them: given with another run.json, they are what it says from then on.
    """
    run = one.run
    if run is None:
        assert one.rejected is not None
        raise one.rejected
    earlier = known.get(run.run_id)
    is_there = False
    if earlier and not earlier.is_quarantined:
        is_corrected = _is_other(run, earlier)
        if is_corrected and not (run.run_id in correctable and _is_of_same_trace(run, earlier)):
            raise _conflict(one, run, is_of_same_trace=_is_of_same_trace(run, earlier))
        is_there = archive.holds(run) and not is_corrected
    if run.trace_content_sha256 is not None:
        holder = holders.setdefault(run.trace_content_sha256, run.run_id)
        if holder != run.run_id and not is_there:
            raise Rejected(Reason.DUPLICATE_TRACE, f"{one.folder_name}: its trace is that of run {holder}")
    if is_there and set(one.attachments) <= set(kept[run.run_id]):
        row, notes = None, list[str]()
    else:
        kept[run.run_id], notes = _take(one, archive)
        row = run
    notes = [*one.notes, *notes]
    return Registration(one.place, run.run_id, run.app, run.version_name, None, not is_there, tuple(notes)), row


def _take(one: Examined, archive: Archive) -> tuple[list[AttachmentRow], list[str]]:
    """`archive.take`; between reading a folder and this there may be minutes."""
    try:
        return archive.take(one)
    except FileNotFoundError as error:
        given = (RUN_JSON, one.run.trace_file or "") if one.run else ()
        if one.folder is None or all(os.path.lexists(one.folder / name) for name in given):
            raise  # it is not the folder that is gone
        raise Rejected(Reason.FOLDER_GONE, one.folder_name) from error


def _conflict(one: Examined, run: run_table.RunRow, *, is_of_same_trace: bool) -> Rejected:
    what = f"{one.folder_name}, run_id {run.run_id}"
    if is_of_same_trace:
        what += f": the same trace with another run.json; `perfreg exclude {run.run_id}` lets it be corrected"
    return Rejected(Reason.RUN_ID_CONFLICT, what)


def _former_conflicts(one: Examined) -> list[tuple[str, str]]:
    """(folder, reason) with which it was refused while it held something else under the id that it is taken by."""
    assert one.run is not None
    return [(one.folder_name, str(_conflict(one, one.run, is_of_same_trace=same))) for same in (True, False)]


def _is_read_again(row: run_table.RunRow, earlier: run_table.RunRow) -> bool:
    """Whether what was found in the trace before is void: with another run.json it means something else, and a run
    whose trace proved damaged is in quarantine only while that is so."""
    return _is_other(row, earlier) or (earlier.is_quarantined and not row.is_quarantined)


def _is_other(run: run_table.RunRow, earlier: run_table.RunRow) -> bool:
    return not earlier.is_quarantined and earlier.content_hash != run.content_hash


def _is_of_same_trace(run: run_table.RunRow, earlier: run_table.RunRow) -> bool:
    return run.trace_content_sha256 is not None and run.trace_content_sha256 == earlier.trace_content_sha256


def _row(run: RunFolder, folder_name: str, key_of: KeyOf) -> run_table.RunRow:
    facts = {**run.facts, "trace_bytes": run.trace.file_bytes, "trace_sha256": run.trace.sha256}
    return run_table.RunRow(
        **facts,
        run_id=run.run_id,
        folder_name=folder_name,
        content_hash=run.content_hash,
        partition_key=key_of(run.app, run.version_name),
        config_hash=run.config.hash,
        step_count=len(run.path),
        path=run.path,
        path_hash=path_hash(run.path),
        explored_state_count=explored_state_count(run.path),
        functional_problem_count=None if run.functional_problems is None else len(run.functional_problems),
        extra=run.extra,
        trace_file=run.trace_file,
        trace_content_sha256=run.trace.content_sha256,
    )


def _store(
    folder: Path, trace_file: str, attachments: Iterable[AttachmentRow], target: Path
) -> tuple[list[AttachmentRow], list[str]]:
    """Puts the run into its place; the attachments that came along, and why others did not."""
    target.parent.mkdir(parents=True, exist_ok=True)
    building = target.with_name(f".{target.name}.{os.getpid()}.part")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir()
    stored: list[AttachmentRow] = []
    notes: list[str] = []
    try:
        # run.json is copied: people mend it in place, and a link would change what was registered. A changed trace
        # is noticed by its hash.
        shutil.copyfile(folder / RUN_JSON, building / RUN_JSON)
        _place(resolved(folder / trace_file), building / trace_file)
        for one in attachments:
            try:
                _place(folder / one.file_name, building / one.file_name)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise  # the folder would leave the inbox without it; all of it is taken once there is room
                (building / one.file_name).unlink(missing_ok=True)
                notes.append(f"{one.file_name}: {error.strerror or error}")  # deleted meanwhile: the run can do without
            else:
                stored.append(one)
        shutil.rmtree(target, ignore_errors=True)  # what a crash between files and row may have left
        building.rename(target)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return stored, notes


def _place(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    place_file(source, target)


# ---- quarantine ----------------------------------------------------------------------------------
def _quarantine(
    one: Examined, rejected: Rejected, known: dict[str, run_table.RunRow], key_of: KeyOf
) -> tuple[Registration, run_table.RunRow | None]:
    run_id = one.claims.get("run_id")
    holder = known.get(run_id or "")
    # A good run keeps its id and its verdicts, whatever is wrong with another folder of the same name; a refused one
    # its reason.
    if run_id is None or (holder and not (holder.is_quarantined and _is_of_same_folder(one, holder))):
        run_id = _quarantine_id(one.fingerprint)
    app, version_name = one.claims.get("app"), one.claims.get("version_name")
    row = run_table.RunRow(
        run_id=run_id,
        folder_name=one.folder_name,
        content_hash=one.fingerprint,
        partition_key=key_of(app, version_name) if app and version_name else None,
        app=app,
        version_name=version_name,
        is_quarantined=True,
        reason_code=rejected.reason.code,
        reason=str(rejected),
        trace_content_sha256=_own_trace(one, rejected, known),
        trace_sha256=_file_sha256(one),
    )
    earlier = known.get(run_id)
    is_new = rejected.reason is not Reason.FOLDER_GONE and (
        earlier is None
        or (earlier.content_hash, earlier.reason_code, earlier.reason) != (one.fingerprint, row.reason_code, row.reason)
    )
    return Registration(one.place, run_id, app, version_name, rejected, is_new), row if is_new else None


def _file_sha256(one: Examined) -> str | None:
    """Of the trace in the folder: with its name it tells the folder, whatever its run.json says by now."""
    return one.run.trace_sha256 if one.run else one.claims.get("trace_sha256")


def _own_trace(one: Examined, rejected: Rejected, known: dict[str, run_table.RunRow]) -> str | None:
    """By what a refused folder is known once it is mended: whose id another run has is given another one, and what is
    stated wrongly of a good trace is stated anew."""
    if rejected.reason in _STATED_OTHERWISE:
        return one.trace.content_sha256 if one.trace else None
    if one.run is None or rejected.reason is not Reason.RUN_ID_CONFLICT:
        return None
    return None if _is_of_same_trace(one.run, known[one.run.run_id]) else one.run.trace_content_sha256


def _is_of_same_folder(one: Examined, row: run_table.RunRow) -> bool:
    """Whether that row tells of this folder: by its name, as it is now or was, or by what is in it."""
    return row.folder_name == one.folder_name or row.content_hash == one.fingerprint


def _claims(folder: Path, settings: Settings, *, is_trace_whole: bool) -> tuple[dict[str, str], str | None]:
    """What a refused run.json says of itself, as far as it can be read: it helps to find the folder's owner; and the
    trace that it names."""
    document = _document(folder, settings)
    claims = {
        key: document[key]
        for key in ("run_id", "app", "version_name")
        if isinstance(document.get(key), str) and document[key].strip()
    }
    if not RUN_ID.fullmatch(claims.get("run_id", "")):
        claims.pop("run_id", None)
    trace_file = document.get("trace")
    only = _only_trace(folder)
    named = _trace_sha256(folder, document.get("trace", only))
    if sha256 := named or _trace_sha256(folder, only):  # its name may be what is to be mended
        claims["trace_sha256"] = sha256
        # Mended and given again it takes its own place. Not where the trace itself is what is to be mended: each part
        # of it that was copied would have a place of its own.
        if named and is_trace_whole and trace_file and not document.get("run_id"):
            claims["run_id"] = id_of_trace(sha256)
    return claims, trace_file if isinstance(trace_file, str) else None


def _document(folder: Path, settings: Settings) -> dict[str, Any]:
    """A refused run.json as far as it can be read and stored: the refusal itself is already named."""
    try:
        text = read_regular(folder / RUN_JSON, settings.run_json_max_bytes).decode("utf-8-sig")
        document: Any = json.loads(text, object_pairs_hook=once_only)
        json.dumps(document, ensure_ascii=False).encode("utf-8")
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _only_trace(folder: Path) -> str | None:
    """What the trace of a folder must be whose run.json names none."""
    try:
        names = [path.name for path in folder.iterdir() if path.name.endswith(TRACE_SUFFIXES)]
    except OSError:
        return None
    return names[0] if len(names) == 1 else None


def _trace_sha256(folder: Path, name: Any) -> str | None:
    """By which a folder that was refused is known once it is mended, whatever id it states then."""
    if not isinstance(name, str) or leads_out(name):
        return None
    try:
        with open_regular(folder / name) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):  # not there, or no name of a file: it is known by nothing before it is
        return None


def _as_found(folder: Path, trace_file: str | None, settings: Settings) -> FileFacts | None:
    """What a trace's bytes are, whatever is stated of it; None where they are no whole trace."""
    try:
        return check_file(folder / trace_file, settings=settings) if trace_file else None
    except Rejected:
        return None


def _fingerprint(folder: Path, settings: Settings, *, without: str | None = None) -> str:
    """Content hash of a folder that is not a run: its run.json and its files' names and sizes, as far as readable.

    Args:
        without: a file that is passed over, as if it were not there.
    """
    digest = hashlib.sha256()
    try:
        for path in sorted(folder.iterdir()):
            if path.name == without:
                continue
            digest.update(os.fsencode(path.name) + b"\0" + str(path.lstat().st_size).encode() + b"\0")
        digest.update(hashlib.sha256(read_regular(folder / RUN_JSON, settings.run_json_max_bytes)).digest())
    except PermissionError:
        return _fingerprint_unread(storable(folder.name))
    except OSError as error:
        digest.update(f"{folder.name}: {error.errno}".encode("utf-8", "replace"))
    return digest.hexdigest()


def _fingerprint_unread(folder_name: str) -> str:
    """Of a folder that may not be read there is no more than its name."""
    return hashlib.sha256(f"{folder_name}: {errno.EACCES}".encode("utf-8", "replace")).hexdigest()


def _looks_like_a_run(folder: Path) -> bool:
    return not folder.name.startswith(".") and has_part_of_a_run(folder)


def has_part_of_a_run(folder: Path) -> bool:
    """Whether a run.json or a trace is in it, so that it is a run or one that is broken: no other folder is refused."""
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return True  # refused later, by FOLDER_UNREADABLE
    return RUN_JSON in names or any(name.endswith(TRACE_SUFFIXES) for name in names)
