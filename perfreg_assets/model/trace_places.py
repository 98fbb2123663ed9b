"""Where the traces of registered runs lie, and profiles beside them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from perfreg_assets.how_many import how_many
from perfreg_assets.model import handover
from perfreg_assets.objects import Objects, Stored
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces.profile_files import ProfileFile
from perfreg_assets.traces.reduced import is_reduced_file
from perfreg_assets.warehouse import attachments
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import traces as trace_table
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.runs import RunRow


@contextmanager
def folder_of(row: RunRow, settings: Settings, folder: Path | None = None) -> Iterator[Path]:
    """The folder with the run's trace, which may not be there: `folder`, by default the registered run's; where it is
    not in there, it is fetched from the exchange, if there is one.

    Raises:
        Rejected: EXCHANGE_UNAVAILABLE.
    """
    assert row.trace_file is not None
    own = folder or settings.runs_dir / row.run_id
    if folder is not None or not settings.exchange or (own / row.trace_file).exists():
        yield own
        return
    with handover.fetched_trace(handover.opened(settings.exchange), row) as fetched:
        yield fetched


@contextmanager
def trace_of(row: RunRow, settings: Settings) -> Iterator[Path]:
    """The run's whole trace in its folder, see `folder_of`.

    Raises:
        Rejected: EXCHANGE_UNAVAILABLE; TRACE_REDUCED.
    """
    assert row.trace_file is not None
    with folder_of(row, settings) as folder:
        if is_reduced_file(folder / row.trace_file):
            raise Rejected(Reason.TRACE_REDUCED, row.run_id)
        yield folder / row.trace_file


def profiles_of(reader: Reader, rows: Mapping[str, RunRow], settings: Settings) -> dict[str, list[ProfileFile]]:
    """run_id → profiles of registered runs, by name; of every run given. They may not be there any more."""
    return {
        run_id: [
            ProfileFile(one.file_name, _beside(rows[run_id], one.file_name, settings), one.kind, one.sha256)
            for one in found
        ]
        for run_id, found in attachments.profiles_of(reader, rows).items()
    }


@contextmanager
def _beside(row: RunRow, file_name: str, settings: Settings) -> Iterator[Path]:
    """A file in the run's folder, as `trace_of` finds the trace.

    Raises:
        Rejected: EXCHANGE_UNAVAILABLE.
    """
    own = settings.runs_dir / row.run_id / file_name
    if not settings.exchange or own.exists():
        yield own
        return
    with handover.fetched_file(handover.opened(settings.exchange), row, file_name) as fetched:
        yield fetched


GONE = "gone"
_FEW_FOLDERS = 20


def states_of(wanted: Iterable[tuple[RunRow, str]], settings: Settings) -> dict[tuple[str, str], str]:
    """(run_id, file name) → what a file of a registered run is at this moment, in its folder here or else in the
    exchange: another text as soon as it is another file.

    Raises:
        Rejected: EXCHANGE_UNAVAILABLE.
    """
    files = {(row.run_id, name): row for row, name in wanted}
    found = {key: _state_here(settings.runs_dir / key[0] / key[1]) for key in files}
    elsewhere = {key: row for key, row in files.items() if found[key] == GONE}
    if settings.exchange and elsewhere:
        kept = _kept(handover.opened(settings.exchange), {handover.archive_name(row) for row in elsewhere.values()})
        for (run_id, name), row in elsewhere.items():
            stored = kept.get(f"{handover.archive_name(row)}/{name}")
            if stored is not None:
                found[run_id, name] = f"{stored.size} bytes, {stored.tag} in the exchange"
    return found


def in_exchange(rows: Collection[RunRow], settings: Settings) -> set[str]:
    """Those of some registered runs whose trace the exchange keeps, whatever of it was fetched to this machine.

    Raises:
        Rejected: EXCHANGE_UNAVAILABLE.
    """
    folders = {row.run_id: handover.archive_name(row) for row in rows}
    if not settings.exchange or not folders:
        return set()
    kept = _kept(handover.opened(settings.exchange), set(folders.values()))
    return {row.run_id for row in rows if f"{folders[row.run_id]}/{row.trace_file}" in kept}


def with_folder(rows: Iterable[RunRow], settings: Settings) -> set[str]:
    """Ids of those runs whose folder is seen, here or in the exchange, whatever is in it. What lacks there is gone;
    of a run without a folder nothing is known: an exchange that is not named, or another one, has it. Where no results
    of workers were ever taken in there is no other place than here, and what lacks is gone.

    Raises:
        Rejected: EXCHANGE_UNAVAILABLE.
    """
    rows = list(rows)
    if not settings.exchange and not settings.exchange_note_file.exists():
        return {row.run_id for row in rows}
    found = {row.run_id for row in rows if (settings.runs_dir / row.run_id).is_dir()}
    elsewhere = [row for row in rows if row.run_id not in found]
    if settings.exchange and elsewhere:
        found |= kept_in(handover.opened(settings.exchange), elsewhere)
    return found


def kept_in(objects: Objects, rows: Iterable[RunRow]) -> set[str]:
    """Ids of those runs that the exchange has a folder of.

    Raises:
        Rejected: EXCHANGE_UNAVAILABLE.
    """
    folders = {handover.archive_name(row): row.run_id for row in rows}
    there = {"/".join(name.split("/")[:2]) for name in _kept(objects, set(folders))}
    return {run_id for folder, run_id in folders.items() if folder in there}


def placeless(run_ids: Sequence[str]) -> Rejected:
    """What is said of runs that are to be read again and have no folder."""
    return Rejected(
        Reason.TRACE_PLACE_MISSING, f"{how_many(len(run_ids), 'run')} to be read again, the first is {run_ids[0]}"
    )


_LOOKED_AT_FIRST = 20


def found_again(reader: Reader, settings: Settings, *, newest_first: bool = False) -> list[str]:
    """Runs whose trace was noted as gone and is there: a disk or an exchange that was away is back.

    Args:
        newest_first: looks at the others only where one of the newest is there again; those that were deleted because
            nobody needs them are older and may be very many.

    Raises:
        Rejected: EXCHANGE_UNAVAILABLE.
    """
    if newest_first and not _there(reader, trace_table.gone(reader, _LOOKED_AT_FIRST), settings):
        return []
    return _there(reader, trace_table.gone(reader), settings)


def _there(reader: Reader, run_ids: Sequence[str], settings: Settings) -> list[str]:
    rows = run_table.find(reader, run_ids, with_path=False) if run_ids else {}
    now = states_of([(row, row.trace_file) for row in rows.values() if row.trace_file is not None], settings)
    return [run_id for (run_id, _), state in now.items() if state != GONE]


def _kept(objects: Objects, folders: set[str]) -> dict[str, Stored]:
    """Files of some archived runs; of many they come from one look at all, as each costs the store a question."""
    asked = sorted(folders) if len(folders) <= _FEW_FOLDERS else [handover.RUNS]
    return {one.name: one for folder in asked for one in objects.listing(folder)}


def _state_here(path: Path) -> str:
    try:
        facts = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return GONE
    except OSError as error:
        return str(error.strerror)
    return f"{facts.st_size} bytes, {facts.st_mtime_ns}, {facts.st_mode:o}"
