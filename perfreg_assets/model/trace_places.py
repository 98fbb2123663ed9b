"""Where the traces of registered runs lie, and profiles beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from perfreg_assets.model import handover
from perfreg_assets.objects import Objects
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces.profile_files import ProfileFile
from perfreg_assets.traces.reduced import is_reduced_file
from perfreg_assets.warehouse import attachments
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
    with handover.fetched_trace(Objects(settings.exchange), row) as fetched:
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
    with handover.fetched_file(Objects(settings.exchange), row, file_name) as fetched:
        yield fetched


GONE = "gone"


def state_of(run_id: str, file_name: str, settings: Settings) -> str:
    """What a file in a registered run's folder is at this moment: another text as soon as it is another file."""
    try:
        facts = (settings.runs_dir / run_id / file_name).stat()
    except (FileNotFoundError, NotADirectoryError):
        return GONE
    except OSError as error:
        return str(error.strerror)
    return f"{facts.st_size} bytes, {facts.st_mtime_ns}, {facts.st_mode:o}"
