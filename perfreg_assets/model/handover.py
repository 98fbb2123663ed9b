"""What a worker hands to the writer of the warehouse: one run folder's result as files in the exchange.

```
<exchange>/inbox/<folder>/…                  run folders that arrive; read when quiet for inbox_settle_s
<exchange>/runs/<run_id>.<content>/…         registered ones, kept by the worker that read them
<exchange>/refused/<folder>.<content>/…      those that are no run
<exchange>/wanted/<run_id>.<content>         empty: this registered run's trace is to be read again
<exchange>/parameters.json                   what traces are to be read with, as the warehouse says
<exchange>/results/<one of the folders>/     result.json, and the Parquet files with series and thread times that it
                                             names (and slices)
```

result.json is written last and names everything: a reader meets a whole result or none. A folder with a result waits
for the writer; the writer deletes what it has committed. Everything may be done twice.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from perfreg_assets import validation
from perfreg_assets.model import inputs
from perfreg_assets.model.profile_shelf import Shelf
from perfreg_assets.objects import Objects, Stored
from perfreg_assets.provenance import code_version
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.run import POWER_PROFILE, RUN_ID
from perfreg_assets.settings import SettingError, Settings
from perfreg_assets.warehouse import slice_uses, thread_times, value_files
from perfreg_assets.warehouse.attachments import AttachmentRow
from perfreg_assets.warehouse.energies import EnergyRow, EnergyRunRow, RunEnergies, TimeRow
from perfreg_assets.warehouse.measurements import MeasurementRow
from perfreg_assets.warehouse.rows import from_arrow, to_arrow
from perfreg_assets.warehouse.runs import RunRow
from perfreg_assets.warehouse.series import SeriesRow, content_hash
from perfreg_assets.warehouse.slice_uses import RunSlices, SliceUsesRow
from perfreg_assets.warehouse.thread_times import RunThreads, ThreadTimesRow
from perfreg_assets.warehouse.traces import TraceRow
from perfreg_assets.warehouse.value_files import Kind

INBOX, RUNS, REFUSED, WANTED, RESULTS = "inbox", "runs", "refused", "wanted", "results"
PARAMETERS = "parameters.json"
_PROFILES = "power_profiles"  # in it
RESULT = "result.json"
FORMAT = 1
_HASH_DIGITS = 16
_LEFTOVER_S = 86_400.0  # longer than any worker takes between a series file and its result.json


@dataclass(frozen=True)
class FileRead:
    """An object of the folder as it was read: only what is still the same is deleted afterwards.

    Attributes:
        changed_at: seconds since the epoch; None in results of earlier releases.
    """

    name: str
    size: int
    tag: str
    changed_at: float | None = None

    def is_still(self, now: Stored) -> bool:
        """Whether it was not put there again since, be it with the same content."""
        return (self.size, self.tag) == (now.size, now.tag) and self.changed_at in (None, now.changed_at)


@dataclass(frozen=True)
class ValuesFile:
    """A Parquet file beside result.json."""

    name: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Result:
    """result.json: what a worker found in one folder.

    Attributes:
        folder: the folder's name in the exchange, `inbox/…` or `runs/…`.
        fingerprint: of a run its content hash.
        refused_as: what the folder's fingerprint was while its trace was not there yet, or when it was refused before.
        run: None where the folder is no run, then `reason_code` and `detail` say why.
        trace: what the gate found; None where there is no run.
        series_file: rows of core.time_series, of a whole trace.
        threads: the row of core.thread_times, of a whole trace.
        threads_file: what that row stands for, a row per thread and state.
        slices, slices_file: as these, of core.slice_uses.
        energies: what the run cost, of a whole trace.
        seconds: what each part took.
    """

    format: int = FORMAT
    folder: str
    files: tuple[FileRead, ...]
    folder_name: str
    fingerprint: str
    claims: dict[str, str]
    reason_code: str | None
    detail: str | None
    run: RunRow | None
    attachments: tuple[AttachmentRow, ...]
    notes: tuple[str, ...]
    trace: TraceRow | None
    measurements: tuple[MeasurementRow, ...]
    seconds: dict[str, float]
    code_version: str
    parameters_hash: str
    series_file: ValuesFile | None = None
    threads: ThreadTimesRow | None = None
    threads_file: ValuesFile | None = None
    slices: SliceUsesRow | None = None
    slices_file: ValuesFile | None = None
    energies: RunEnergies | None = None
    refused_as: str | None = None


def opened(url: str) -> Objects:
    """The exchange at a URL.

    Raises:
        Rejected: EXCHANGE_UNAVAILABLE, also where there is no such bucket or folder.
    """
    objects = Objects(url)
    objects.require_there()
    return objects


def archive_name(run: RunRow) -> str:
    """Where a registered run's files are kept in the exchange; by content, so that no other run's are replaced."""
    return f"{RUNS}/{run.run_id}.{run.content_hash[:_HASH_DIGITS]}"


def refusal_name(folder_name: str, fingerprint: str) -> str:
    return f"{REFUSED}/{folder_name}.{fingerprint[:_HASH_DIGITS]}"


def refused_of(name: str) -> tuple[str, str]:
    """(name of the folder, first digits of its fingerprint) of an object below `refused/`."""
    folder, _, digits = name.split("/", 2)[1].rpartition(".")
    return folder, digits


def result_folder(folder: str) -> str:
    return f"{RESULTS}/{folder}"


def pending(objects: Objects) -> list[str]:
    """Folders with a whole result that waits for the writer, oldest result first."""
    return [one.name.removeprefix(f"{RESULTS}/").removesuffix(f"/{RESULT}") for one in whole_results(objects)]


def whole_results(objects: Objects) -> list[Stored]:
    """The `result.json` of whole results that wait for the writer, oldest first."""
    found = [one for one in objects.listing(RESULTS) if one.name.endswith(f"/{RESULT}")]
    return sorted(found, key=lambda one: (one.changed_at, one.name))


# ---- writing -------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Contents:
    """What lies in the files beside result.json; nothing where there is no whole trace."""

    series: tuple[SeriesRow, ...] = ()
    threads: RunThreads | None = None
    slices: RunSlices | None = None


def write(objects: Objects, result: Result, contents: Contents) -> None:
    """Hands a result over: series, thread times and slices first, result.json last."""
    from pydantic import TypeAdapter  # noqa: PLC0415  (see validation)

    place = result_folder(result.folder)
    if contents.series:
        rows = to_arrow(contents.series, SeriesRow)
        result = replace(result, series_file=_write_table(objects, place, "series", rows))
    threads, slices = contents.threads, contents.slices
    if threads is not None:
        file = _write_table(objects, place, "threads", threads.rows) if threads.rows.num_rows else None
        result = replace(result, threads=threads.row, threads_file=file)
    if slices is not None:
        file = _write_table(objects, place, "slices", slices.rows) if slices.rows.num_rows else None
        result = replace(result, slices=slices.row, slices_file=file)
    objects.write(f"{place}/{RESULT}", TypeAdapter(Result).dump_json(result, indent=1))


def _write_table(objects: Objects, place: str, name: str, rows: pa.Table) -> ValuesFile:
    import pyarrow.parquet as pq  # noqa: PLC0415

    out = io.BytesIO()
    pq.write_table(rows, out, compression="zstd")
    content = out.getvalue()
    sha256 = hashlib.sha256(content).hexdigest()
    file = ValuesFile(f"{name}-{sha256[:_HASH_DIGITS]}.parquet", sha256)
    objects.write(f"{place}/{file.name}", content)
    return file


# ---- reading -------------------------------------------------------------------------------------
def read(objects: Objects, folder: str) -> tuple[Result, Contents]:
    """A folder's result and what lies in its files.

    Raises:
        Rejected: RESULT_UNREADABLE.
        FileNotFoundError: there is none (any more).
    """
    text = objects.read(f"{result_folder(folder)}/{RESULT}")
    result = _parse(folder, text)
    series: tuple[SeriesRow, ...] = ()
    if result.series_file is not None:
        series = _read_series(objects, result, result.series_file)
    return result, Contents(series, _read_threads(objects, result), _read_slices(objects, result))


def _parse(folder: str, text: bytes) -> Result:
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415

    where = f"{result_folder(folder)}/{RESULT}"
    try:
        result = TypeAdapter(Result).validate_json(text, strict=True)
    except ValidationError as error:
        problem = validation.problems(error)[0]
        raise Rejected(Reason.RESULT_UNREADABLE, f"{where}, {problem.place}: expected {problem.expected}") from error
    if result.format != FORMAT:
        raise Rejected(Reason.RESULT_UNREADABLE, f"{where} has format {result.format}")
    named = {
        one.run_id
        for one in (result.run, result.trace, result.threads, result.slices, *result.attachments, *_costs(result))
        if one is not None
    }
    if (
        result.folder != folder
        or (result.run is None) is not (result.trace is None)
        or len(named) > 1
        or (result.run is None and result.reason_code not in set(Reason))
        or (result.run is not None and not _is_placeable(result.run))
    ):
        raise Rejected(Reason.RESULT_UNREADABLE, f"{where} contradicts itself")
    return result


def _costs(result: Result) -> Iterator[EnergyRunRow | TimeRow | EnergyRow]:
    """Everything in a result that says what some run cost."""
    if result.energies is not None:
        yield result.energies.row
        yield from result.energies.times
        yield from result.energies.energies


def _is_placeable(run: RunRow) -> bool:
    """Whether id and trace are names of files below a folder, as reading run.json makes sure of."""
    parts = (run.trace_file or "").split("/")
    return RUN_ID.fullmatch(run.run_id) is not None and not any(part in ("", ".", "..") for part in parts)


def _read_series(objects: Objects, result: Result, file: ValuesFile) -> tuple[SeriesRow, ...]:
    where, rows = _read_table(objects, result, file)
    try:
        series = tuple(from_arrow(rows, SeriesRow))
    except KeyError as error:
        raise Rejected(Reason.RESULT_UNREADABLE, f"{where} ({error})") from error
    for one in series:
        is_own = result.run is not None and one.run_id == result.run.run_id
        if not is_own or one.values_hash != content_hash(one.values, one.interval_s, one.start_ns):
            raise Rejected(Reason.RESULT_UNREADABLE, f"{where}, series {one.series}, is not what it says it is")
    return series


def _read_threads(objects: Objects, result: Result) -> RunThreads | None:
    row = result.threads
    if row is None:
        return None
    where, rows = _rows_of_run(objects, result, result.threads_file, value_files.THREAD_TIMES)
    if not row.is_missing and row.values_hash != thread_times.content_hash(row.start_ns or 0, rows):
        raise Rejected(Reason.RESULT_UNREADABLE, f"{where}: the thread times are not what they say they are")
    return RunThreads(row, rows)


def _read_slices(objects: Objects, result: Result) -> RunSlices | None:
    row = result.slices
    if row is None:
        return None
    where, rows = _rows_of_run(objects, result, result.slices_file, value_files.SLICE_USES)
    if not row.is_missing and row.values_hash != slice_uses.content_hash(rows):
        raise Rejected(Reason.RESULT_UNREADABLE, f"{where}: the slices are not what they say they are")
    return RunSlices(row, rows)


def _rows_of_run(objects: Objects, result: Result, file: ValuesFile | None, kind: Kind) -> tuple[str, pa.Table]:
    """Where the rows of a kind are, and the rows: of the result's run, none without a file."""
    where, rows = f"{result_folder(result.folder)}/{RESULT}", kind.columns.empty_table()
    if file is not None:
        where, rows = _read_table(objects, result, file)
    own = {result.run.run_id} if result.run is not None else set()
    if not rows.schema.equals(kind.columns) or set(rows.column("run_id").to_pylist()) - own:
        raise Rejected(Reason.RESULT_UNREADABLE, f"{where} holds no {kind.name} of the run")
    return where, rows


def _read_table(objects: Objects, result: Result, file: ValuesFile) -> tuple[str, pa.Table]:
    """Where a file is, and its rows."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    where = f"{result_folder(result.folder)}/{file.name}"
    try:
        content = objects.read(where)
    except FileNotFoundError as error:
        raise Rejected(Reason.RESULT_UNREADABLE, f"{where} is not there") from error
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise Rejected(Reason.RESULT_UNREADABLE, f"{where} is not the file that {RESULT} names")
    try:
        return where, pq.read_table(io.BytesIO(content))
    except pa.ArrowException as error:
        raise Rejected(Reason.RESULT_UNREADABLE, f"{where} ({error})") from error


def require_current(result: Result, settings: Settings) -> None:
    """Raises Rejected (RESULT_OUTDATED) for what this code would read otherwise, with these settings."""
    if result.code_version != code_version("traces"):
        what = f"read by code {result.code_version}, here is {code_version('traces')}"
    elif result.parameters_hash != inputs.trace_parameters(settings):
        what = "read with another interval, tolerance or power profile"
    else:
        return
    raise Rejected(Reason.RESULT_OUTDATED, f"{result.folder} was {what}")


def discard(objects: Objects, folder: str) -> None:
    """Deletes a result; result.json first, so that nobody meets half of one."""
    names = [one.name for one in objects.listing(result_folder(folder))]
    objects.delete(sorted(names, key=lambda name: not name.endswith(f"/{RESULT}")))


def sweep(objects: Objects) -> None:
    """Deletes what killed workers and writers left beside no result, a day afterwards."""
    listing = objects.listing(RESULTS)
    whole = {one.name.rpartition("/")[0] for one in listing if one.name.endswith(f"/{RESULT}")}
    before = time.time() - _LEFTOVER_S
    objects.delete(one.name for one in listing if one.name.rpartition("/")[0] not in whole and one.changed_at < before)
    objects.remove_unfinished(before)


# ---- what traces are to be read with ---------------------------------------------------------------
def parameters_text(settings: Settings, shelf: Shelf) -> bytes:
    """parameters.json for the settings in force and the warehouse's power profiles."""
    told = {name: getattr(settings, name) for name in inputs.TRACE_PARAMETERS}
    return json.dumps({**told, _PROFILES: shelf.as_json()}, indent=1).encode()


def publish_parameters(objects: Objects, settings: Settings, shelf: Shelf) -> None:
    """Says what workers are to read traces with."""
    if not has_parameters(objects, settings, shelf):
        objects.write(PARAMETERS, parameters_text(settings, shelf))


def has_parameters(objects: Objects, settings: Settings, shelf: Shelf) -> bool:
    """Whether workers are told the settings in force and the warehouse's power profiles."""
    try:
        return objects.read(PARAMETERS) == parameters_text(settings, shelf)
    except FileNotFoundError:
        return False


def with_parameters(objects: Objects, settings: Settings) -> tuple[Settings, Shelf]:
    """A worker's settings, with what the warehouse says about reading traces, and its power profiles; its own where
    that says nothing yet.

    Raises:
        Rejected: PARAMETERS_UNREADABLE.
    """
    try:
        text = objects.read(PARAMETERS)
    except FileNotFoundError:
        return settings, Shelf()
    try:
        given: Any = json.loads(text)
        found = settings.with_values(**{name: given[name] for name in inputs.TRACE_PARAMETERS})
        return found, Shelf.from_json(given[_PROFILES])
    except (ValueError, KeyError, TypeError, SettingError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise Rejected(Reason.PARAMETERS_UNREADABLE, f"{objects.url}/{PARAMETERS} ({what})") from error


# ---- traces ----------------------------------------------------------------------------------------
@contextmanager
def fetched_trace(objects: Objects, run: RunRow) -> Iterator[Path]:
    """A folder with the run's trace as the exchange keeps it; empty where it does not."""
    assert run.trace_file is not None
    with tempfile.TemporaryDirectory(prefix="perfreg-trace-") as scratch:
        folder = Path(scratch)
        with suppress(FileNotFoundError):  # the gate says that it is missing
            objects.fetch(f"{archive_name(run)}/{run.trace_file}", folder / run.trace_file)
        with suppress(FileNotFoundError):  # few runs have one
            objects.fetch(f"{archive_name(run)}/{POWER_PROFILE}", folder / POWER_PROFILE)
        yield folder


@contextmanager
def fetched_file(objects: Objects, run: RunRow, file_name: str) -> Iterator[Path]:
    """Another file of the run as the exchange keeps it; a path without a file where it does not."""
    with tempfile.TemporaryDirectory(prefix="perfreg-file-") as scratch:
        target = Path(scratch) / file_name
        with suppress(FileNotFoundError):  # who reads it says so
            objects.fetch(f"{archive_name(run)}/{file_name}", target)
        yield target


def files_read(listing: list[Stored]) -> tuple[FileRead, ...]:
    return tuple(FileRead(one.name, one.size, one.tag, one.changed_at) for one in listing)


def inside(name: str) -> str:
    """What an object of a run folder is called in there."""
    return name.split("/", 2)[2]
