"""From files and folders of results to rows: which app and version they are of, and that each is stored once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from perfreg_assets.benchmarks.result_file import read_result_file
from perfreg_assets.benchmarks.results import NAME_LENGTH_MAX, Invalid, Named, Result, ResultFile, shortened
from perfreg_assets.moments import in_utc
from perfreg_assets.partitions import to_key
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.storable_text import told_once
from perfreg_assets.warehouse.benchmarks import (
    BENCHMARK_RUN,
    BenchmarkRunRow,
    LaunchRow,
    Measured,
    ResultRow,
    WarningRow,
)
from perfreg_assets.warehouse.measurements import MeasurementRow

DOCUMENT = "benchmark.json"
UNKNOWN_DEVICE = "unknown"
_OWN_TIME = "the machine's own, taken as UTC"
"""As marts.earliest_start knows it."""
_DOCUMENT_BYTES_MAX = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Whose results these are, as far as somebody says so; what is None is taken from the file of results."""

    app: str | None = None
    version_name: str | None = None
    variant: str | None = None
    device: str | None = None
    started_at: datetime | None = None
    area: str | None = None

    def over(self, other: Origin) -> Origin:
        """This one, with the other's where it says nothing."""
        return Origin(
            **{name: value if value is not None else getattr(other, name) for name, value in vars(self).items()}
        )


@dataclass(frozen=True)
class TakenIn:
    """A file that was read, with what is to be stored of it; or why it was refused."""

    path: Path
    measured: Measured | None
    invalid: tuple[Invalid, ...] = ()
    rejected: Rejected | None = None


def take_in(paths: Sequence[Path], origin: Origin) -> list[TakenIn]:
    """Reads files, and folders with a benchmark.json or with files of results; one that is refused stops no other.

    Args:
        origin: goes before what a benchmark.json says.
    """
    found = []
    for path in paths:
        try:
            for file, own in result_files(path, origin):
                found.append(_one(file, own))
        except Rejected as rejected:
            found.append(TakenIn(path, None, (), rejected))
    return found


def _one(path: Path, origin: Origin) -> TakenIn:
    try:
        read = read_result_file(path)
        measured = measured_of(read, origin, written_at=_changed_at(path))
    except Rejected as rejected:
        return TakenIn(path, None, (), rejected)
    except OSError as error:
        return TakenIn(path, None, (), Rejected(Reason.BENCHMARK_FILE_UNREADABLE, f"{path} ({error})"))
    return TakenIn(path, measured, read.invalid)


def _changed_at(path: Path) -> datetime | None:
    """The time of a file; None where it is in no year, which some file systems can hold.

    Raises:
        OSError: it is gone.
    """
    changed_at = path.stat().st_mtime
    try:
        return datetime.fromtimestamp(changed_at, UTC)
    except (ValueError, OverflowError):
        return None


def result_files(path: Path, origin: Origin) -> Iterator[tuple[Path, Origin]]:
    """The files of results that a path means, and whose results they are: the file, or those that a folder's
    benchmark.json names, or all below it.

    Raises:
        Rejected: BENCHMARK_JSON_INVALID; BENCHMARK_FILE_UNREADABLE: there is none.
    """
    if not path.is_dir():
        yield path, origin
        return
    if (path / DOCUMENT).exists():
        document = read_document(path)
        for name in document.results or _json_files(path):
            yield path / name, origin.over(document.origin)
        return
    folders = sorted(one.parent for one in path.rglob(DOCUMENT))
    if folders:
        for folder in folders:
            yield from result_files(folder, origin)
        return
    names = _json_files(path)
    if not names:
        raise Rejected(Reason.BENCHMARK_FILE_UNREADABLE, f"{path} holds no .json file")
    for name in names:
        yield path / name, origin


def _json_files(folder: Path) -> list[str]:
    files = (
        one for one in folder.rglob("*.json*") if one.name.endswith((".json", ".json.gz")) and one.name != DOCUMENT
    )
    return sorted(str(one.relative_to(folder)) for one in files)


# ---- benchmark.json ------------------------------------------------------------------------------
@dataclass(frozen=True)
class Document:
    """What a benchmark.json says; `results` is empty where all .json files beside it are meant."""

    origin: Origin
    results: tuple[str, ...]


def read_document(folder: Path) -> Document:
    """The folder's benchmark.json.

    Raises:
        Rejected: BENCHMARK_JSON_INVALID.
    """
    from pydantic import BaseModel, ConfigDict, Field, ValidationError  # noqa: PLC0415  (slow to load)

    from perfreg_assets import validation  # noqa: PLC0415

    class Form(BaseModel):
        model_config = ConfigDict(strict=True, extra="ignore")

        schema_version: int = 1
        app: Annotated[str, Field(min_length=1, max_length=255)]
        version_name: Annotated[str, Field(min_length=1, max_length=255)]
        variant: Annotated[str, Field(max_length=100)] | None = None
        device: Annotated[str, Field(min_length=1, max_length=255)] | None = None
        started_at: str | None = None
        area: Annotated[str, Field(min_length=1, max_length=255)] | None = None
        results: list[str] = []

    path = folder / DOCUMENT
    try:
        if path.stat().st_size > _DOCUMENT_BYTES_MAX:
            raise Rejected(Reason.BENCHMARK_JSON_INVALID, f"{path} has more than {_DOCUMENT_BYTES_MAX >> 20} MiB")
        form = Form.model_validate(json.loads(path.read_text("utf-8-sig"), object_pairs_hook=told_once))
    except ValidationError as error:
        problem = validation.problems(error)[0]
        detail = f"{path}: {problem.place or 'the document'}: expected {problem.expected}"
        raise Rejected(Reason.BENCHMARK_JSON_INVALID, detail) from error
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise Rejected(Reason.BENCHMARK_JSON_INVALID, f"{path} ({str(error).splitlines()[0]})") from error
    if form.schema_version != 1:
        raise Rejected(Reason.BENCHMARK_JSON_INVALID, f"{path}: schema_version {form.schema_version} is not known")
    for name in form.results:
        if not (folder / name).resolve().is_relative_to(folder.resolve()):
            raise Rejected(Reason.BENCHMARK_JSON_INVALID, f"{path}: results: {name!r} leaves the folder")
    origin = Origin(
        app=form.app,
        version_name=form.version_name,
        variant=form.variant,
        device=form.device,
        started_at=_moment(form.started_at, f"{path}: started_at") if form.started_at is not None else None,
        area=form.area,
    )
    return Document(origin, tuple(form.results))


def time_of(text: str) -> datetime:
    """A time with its zone.

    Raises:
        ValueError: in words.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is no time as 2026-11-20T09:12:00Z") from error
    if found.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone, a trailing Z for UTC")
    return in_utc(found)


def _moment(text: str, what: str) -> datetime:
    try:
        return time_of(text)
    except ValueError as error:
        raise Rejected(Reason.BENCHMARK_JSON_INVALID, f"{what}: {error}") from error


# ---- rows ----------------------------------------------------------------------------------------
def measured_of(
    read: ResultFile, origin: Origin, *, written_at: datetime | None, suite_hash: str | None = None
) -> Measured:
    """What is to be stored of results.

    Args:
        written_at: stands for the time of the measurement where nothing says it; noted then. None: it is now.

    Raises:
        Rejected: BENCHMARK_ORIGIN_MISSING; RESULT_INVALID: there is nothing at all.
    """
    if not origin.app or not origin.version_name:
        raise Rejected(Reason.BENCHMARK_ORIGIN_MISSING, read.source)
    if not read.results and not read.invalid:
        raise Rejected(Reason.RESULT_INVALID, f"{read.source} has no result")
    device, variant = origin.device or read.device or UNKNOWN_DEVICE, origin.variant or ""
    environment = dict(read.environment)
    started_at = origin.started_at or _in_utc(read.started_at)
    if origin.started_at is None and read.started_at is not None and read.started_at.tzinfo is None:
        environment["started_at_is"] = _OWN_TIME
    if started_at is None:
        environment["started_at_is"] = "the time of the file" if written_at else "the time of the import"
        started_at = written_at or datetime.now(UTC)
    key = "\0".join((origin.app, origin.version_name, device, variant, read.sha256))
    run_id = f"b-{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    run = BenchmarkRunRow(
        benchmark_run_id=run_id,
        partition_key=to_key(origin.app, origin.version_name),
        app=origin.app,
        version_name=origin.version_name,
        device=device,
        variant=variant,
        runner=read.tool,
        suite_hash=suite_hash,
        source_name=read.source,
        source_sha256=read.sha256,
        environment=environment,
        started_at=started_at,
    )
    results = in_area(read.results, origin)
    invalid = [one.in_area(origin.area) if origin.area else one for one in read.invalid]
    return Measured(
        run,
        (*(_score(run, one) for one in results), *(_no_score(run, one) for one in invalid)),
        tuple(_result(run_id, one) for one in results),
        tuple(row for one in results for row in _launches(run_id, one)),
        tuple(row for one in results for row in _warnings(run_id, one)),
        is_dated=origin.started_at is not None,
    )


def _in_utc(told: datetime | None) -> datetime | None:
    """The time that a file tells; one that is in no year counts as not told. One without its zone is taken as UTC's: so
    results of one machine keep their order, wherever they are taken in."""
    try:
        return None if told is None else in_utc(told if told.tzinfo else told.replace(tzinfo=UTC))
    except ValueError:
        return None


def in_area(results: Sequence[Result], origin: Origin) -> list[Result]:
    """Results in the area that their origin names, where it names one."""
    return [replace(one, area=origin.area) if origin.area else one for one in results]


def _measurement(
    run: BenchmarkRunRow, name: str, unit: str, worse: str, value: float | None, reason: str | None
) -> MeasurementRow:
    return MeasurementRow(
        subject_kind=BENCHMARK_RUN, subject_id=run.benchmark_run_id, metric=name, app=run.app,
        version_name=run.version_name, unit=unit, worse=worse, value=value, reason=reason,
        provenance={"runner": run.runner, "source": run.source_name},
    )  # fmt: skip


def _score(run: BenchmarkRunRow, one: Result) -> MeasurementRow:
    return _measurement(run, one.name, one.unit, one.worse, one.score, None)


def _no_score(run: BenchmarkRunRow, one: Invalid) -> MeasurementRow:
    """There is no row of a result that would say what it is of: its measurement does."""
    row = _measurement(run, one.name, one.unit, one.worse, None, one.why)
    return replace(row, provenance={**(row.provenance or {}), "of": _told(one.of)})


def _told(of: Named) -> dict[str, Any]:
    """What a result is of; where that is too long for a name each part as far as there is room, and the parameters,
    however many they are, not at all."""
    told: dict[str, Any] = {part: shortened(getattr(of, part)) for part in ("benchmark", "area", "metric")}
    return told if len(of.name) > NAME_LENGTH_MAX else {**told, "params": dict(of.params)}


def _result(run_id: str, one: Result) -> ResultRow:
    scores = one.scores
    return ResultRow(
        benchmark_run_id=run_id,
        result_name=one.name,
        benchmark=one.benchmark,
        params=dict(one.params),
        area=one.area,
        quantity=one.metric,
        is_primary=one.is_primary,
        is_adequate=one.is_adequate,
        launch_scores=scores,
        launch_count=len(scores),
        measured_iteration_count=len(one.iterations),
    )


def _launches(run_id: str, result: Result) -> Iterator[LaunchRow]:
    for one in result.launches:
        has_counts = bool(one.counts)
        yield LaunchRow(
            benchmark_run_id=run_id,
            result_name=result.name,
            launch=one.number + 1,
            thread_index=one.thread,
            iteration_values=None if has_counts else tuple(float(value) for value in one.values),
            operation_counts=one.counts if has_counts else None,
            elapsed_ns=one.elapsed_ns if has_counts else None,
        )


def _warnings(run_id: str, result: Result) -> Iterator[WarningRow]:
    told: dict[str, Any] = {}
    for one in result.warnings:
        told.setdefault(one.code.code, one.detail)
    for code, detail in told.items():
        yield WarningRow(benchmark_run_id=run_id, result_name=result.name, warning_code=code, detail=detail)
