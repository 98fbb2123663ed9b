"""The run folder: what a test run leaves behind (public format, schema_version 1).

`read_run_folder` takes a folder apart and checks every value; what does not hold is `Rejected` with a reason
code and nothing is kept. `write_run_folder` writes one so that no reader ever meets half of it. What the trace
contains is not looked at here: that is the gate's job.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings

SCHEMA_VERSION = 1
RUN_JSON = "run.json"
TRACE_SUFFIXES = (".perfetto-trace", ".pftrace", ".perfetto-trace.gz", ".pftrace.gz")

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_INT64_MAX = 2**63 - 1
_KNOWN_KEYS = {
    *("schema_version", "run_id", "app", "version_name", "version_code", "config", "started_at", "exploration"),
    *("path", "functional_problems", "trace", "trace_bytes", "trace_sha256"),
}


@dataclass(frozen=True)
class Configuration:
    """Test configuration C = (D, S, T, I) [thesis 4]."""

    device: str
    strategy: str
    time_limit_s: float
    action_interval_s: float

    @property
    def hash(self) -> str:
        """SHA-256 of the four values: runs are comparable only when it is the same."""
        text = json.dumps([self.device, self.strategy, self.time_limit_s, self.action_interval_s])
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class PathStep:
    """The app's state after one action; times in the trace's clock (ns, BOOTTIME), None where not known."""

    step: int
    ts_ns: int | None
    state_hash: str
    screen: str | None
    action: str | None


@dataclass(frozen=True)
class RunFolder:
    """A validated run folder. `functional_problems` is None where the tester did not say (F unknown)."""

    folder: Path
    run_id: str
    app: str
    version_name: str
    version_code: int | None
    config: Configuration
    started_at: datetime
    exploration: tuple[int, int] | None
    path: tuple[PathStep, ...]
    functional_problems: tuple[dict[str, Any], ...] | None
    trace_name: str
    trace_sha256: str
    trace_size: int
    expected_bytes: int | None
    expected_sha256: str | None
    content_hash: str
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def trace_path(self) -> Path:
        return self.folder / self.trace_name


def read_run_folder(folder: Path, settings: Settings) -> RunFolder:
    """Reads and validates a run folder; hashes its trace.

    Raises:
        Rejected: with the reason code of the first thing that does not hold.
    """
    folder = Path(folder)
    raw = _read_run_json(folder, settings)
    document = _parse(folder, raw)
    reader = _Reader(folder, document)
    version = reader.integer("schema_version", default=SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise Rejected(Reason.SCHEMA_VERSION_UNKNOWN, f"{folder.name}/{RUN_JSON} has schema_version {version}")
    trace_name = reader.text("trace")
    trace = _trace_in(folder, trace_name)
    trace_size, trace_sha256 = _hash_file(trace)
    config = reader.nested("config")
    run_id = reader.text("run_id", required=False) or trace_sha256[:16]
    if not RUN_ID.fullmatch(run_id):
        raise Rejected(Reason.RUN_ID_INVALID, f"{folder.name}/{RUN_JSON} has run_id {run_id[:200]!r}")
    return RunFolder(
        folder=folder,
        run_id=run_id,
        app=reader.text("app"),
        version_name=reader.text("version_name"),
        version_code=reader.integer("version_code", required=False),
        config=Configuration(
            device=config.text("device"),
            strategy=config.text("strategy"),
            time_limit_s=config.number("time_limit_s"),
            action_interval_s=config.number("action_interval_s"),
        ),
        started_at=_started_at(folder, reader.text("started_at")),
        exploration=_exploration(reader),
        path=_path(reader, settings),
        functional_problems=_functional_problems(reader),
        trace_name=trace_name,
        trace_sha256=trace_sha256,
        trace_size=trace_size,
        expected_bytes=reader.integer("trace_bytes", required=False),
        expected_sha256=(reader.text("trace_sha256", required=False) or "").lower() or None,
        content_hash=hashlib.sha256(raw + trace_sha256.encode()).hexdigest(),
        extra={key: value for key, value in document.items() if key not in _KNOWN_KEYS},
    )


def write_run_folder(destination: Path, document: Mapping[str, Any], files: Mapping[str, Path]) -> Path:
    """Writes `destination` with run.json and the given files (name → source, moved or copied).

    The folder is built under a dotted name beside its place and renamed when it is on disk: a watcher sees
    all of it or nothing.

    Raises:
        FileExistsError: there is a folder of that name already.
    """
    destination = Path(destination)
    if destination.exists():
        raise FileExistsError(f"{destination} exists already; choose another folder name")
    destination.parent.mkdir(parents=True, exist_ok=True)
    building = destination.with_name(f".{destination.name}.{os.getpid()}.part")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir()
    try:
        for name, source in files.items():
            place_file(source, building / name)
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
        with (building / RUN_JSON).open("w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        building.rename(destination)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    _sync_directory(destination.parent)
    return destination


def place_file(source: Path, target: Path) -> None:
    """A hard link where the file system allows it, else a synced copy: the content is the same, the cost is not."""
    try:
        os.link(source, target, follow_symlinks=True)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, target)
        with target.open("rb") as copied:
            os.fsync(copied.fileno())


# ---- reading -------------------------------------------------------------------------------------
def _read_run_json(folder: Path, settings: Settings) -> bytes:
    path = folder / RUN_JSON
    try:
        if not path.is_file():
            raise Rejected(Reason.RUN_JSON_MISSING, f"{folder.name} has no {RUN_JSON}")
        if not path.resolve().is_relative_to(folder.resolve()):
            raise Rejected(Reason.RUN_JSON_MISSING, f"{folder.name}/{RUN_JSON} is a link out of the folder")
        size = path.stat().st_size
        if size > settings.run_json_max_bytes:
            raise Rejected(
                Reason.RUN_JSON_TOO_LARGE,
                f"{folder.name}/{RUN_JSON} has {size:,} bytes, allowed are {settings.run_json_max_bytes:,}",
            )
        return path.read_bytes()
    except OSError as error:
        raise Rejected(Reason.FOLDER_UNREADABLE, f"{folder.name}: {error.strerror or error}") from error


def _parse(folder: Path, raw: bytes) -> dict[str, Any]:
    where = f"{folder.name}/{RUN_JSON}"

    def refuse_constant(name: str) -> None:
        raise Rejected(Reason.VALUE_OUT_OF_RANGE, f"{where} holds {name}, which is not a JSON number")

    try:
        document = json.loads(raw.decode("utf-8"), parse_constant=refuse_constant)
    except UnicodeDecodeError as error:
        raise Rejected(Reason.RUN_JSON_NOT_UTF8, f"{where}, byte {error.start}") from error
    except RecursionError as error:
        raise Rejected(Reason.RUN_JSON_NOT_JSON, f"{where} is nested too deeply") from error
    except ValueError as error:
        raise Rejected(Reason.RUN_JSON_NOT_JSON, f"{where}: {error}") from error
    if not isinstance(document, dict):
        raise Rejected(Reason.WRONG_TYPE, f"{where} is not a JSON object")
    _refuse_unstorable_text(where, document)
    return document


def _refuse_unstorable_text(where: str, value: Any) -> None:
    """JSON can spell lone surrogates, which no UTF-8 text can hold."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise Rejected(Reason.RUN_JSON_NOT_UTF8, f"{where} holds half of a surrogate pair") from error


class _Reader:
    """Typed access to one JSON object; every refusal names the key."""

    def __init__(self, folder: Path, document: dict[str, Any], prefix: str = "") -> None:
        self._folder, self._document, self._prefix = folder, document, prefix

    def where(self, key: str) -> str:
        return f"{self._folder.name}/{RUN_JSON}, key {self._prefix}{key}"

    def _get(self, key: str, required: bool) -> Any:
        value = self._document.get(key)
        if value is None and required:
            raise Rejected(Reason.KEY_MISSING, self.where(key))
        return value

    def wrong(self, key: str, expected: str, value: Any) -> Rejected:
        return Rejected(Reason.WRONG_TYPE, f"{self.where(key)} is {type(value).__name__}, expected {expected}")

    def text(self, key: str, *, required: bool = True) -> str:
        value = self._get(key, required)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.wrong(key, "text", value)
        if required and not value.strip():
            raise Rejected(Reason.KEY_MISSING, f"{self.where(key)} is empty")
        return value

    def number(self, key: str) -> float:
        value = self._get(key, required=True)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.wrong(key, "a number", value)
        number = float(value) if abs(value) <= _INT64_MAX else math.inf
        if not math.isfinite(number) or number < 0:
            raise Rejected(Reason.VALUE_OUT_OF_RANGE, f"{self.where(key)} = {value!r}")
        return number

    def integer(self, key: str, *, required: bool = True, default: int | None = None) -> Any:
        value = self._get(key, required and default is None)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(key, "a whole number", value)
        if not 0 <= value <= _INT64_MAX:
            raise Rejected(Reason.VALUE_OUT_OF_RANGE, f"{self.where(key)} = {value}")
        return value

    def nested(self, key: str) -> _Reader:
        value = self._get(key, required=True)
        if not isinstance(value, dict):
            raise self.wrong(key, "an object", value)
        return _Reader(self._folder, value, f"{self._prefix}{key}.")

    def objects(self, key: str, *, maximum: int | None = None) -> list[tuple[str, dict[str, Any]]] | None:
        value = self._get(key, required=False)
        if value is None:
            return None
        if not isinstance(value, list):
            raise self.wrong(key, "a list", value)
        if maximum is not None and len(value) > maximum:
            raise Rejected(Reason.PATH_TOO_LONG, f"{self.where(key)} has {len(value):,} steps, allowed are {maximum:,}")
        for position, item in enumerate(value):
            if not isinstance(item, dict):
                raise self.wrong(f"{key}[{position}]", "an object", item)
        return [(f"{self._prefix}{key}[{position}].", item) for position, item in enumerate(value)]

    def within(self, prefix: str, item: dict[str, Any]) -> _Reader:
        return _Reader(self._folder, item, prefix)


def _started_at(folder: Path, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise Rejected(
            Reason.WRONG_TYPE, f"{folder.name}/{RUN_JSON}, key started_at = {text[:60]!r} is not an ISO 8601 time"
        ) from error
    if moment.tzinfo is None:
        raise Rejected(Reason.TIME_WITHOUT_ZONE, f"{folder.name}/{RUN_JSON}, key started_at = {text!r}")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise Rejected(Reason.VALUE_OUT_OF_RANGE, f"{folder.name}/{RUN_JSON}, key started_at = {text!r}") from error


def _exploration(reader: _Reader) -> tuple[int, int] | None:
    if reader._get("exploration", required=False) is None:
        return None
    exploration = reader.nested("exploration")
    start, end = exploration.integer("start_ns"), exploration.integer("end_ns")
    if end <= start:
        raise Rejected(
            Reason.VALUE_OUT_OF_RANGE, f"{exploration.where('end_ns')} = {end} is not after start_ns = {start}"
        )
    return start, end


def _path(reader: _Reader, settings: Settings) -> tuple[PathStep, ...]:
    steps = []
    for position, (prefix, item) in enumerate(reader.objects("path", maximum=settings.path_max_steps) or []):
        step = reader.within(prefix, item)
        steps.append(
            PathStep(
                step=step.integer("step", default=position),
                ts_ns=step.integer("ts_ns", required=False),
                state_hash=step.text("state_hash"),
                screen=step.text("screen", required=False) or None,
                action=step.text("action", required=False) or None,
            )
        )
    if any(later.step <= earlier.step for earlier, later in pairwise(steps)):
        raise Rejected(Reason.VALUE_OUT_OF_RANGE, f"{reader.where('path')}: steps are not in ascending order")
    if any(step.step > 2**31 - 1 for step in steps[-1:]):
        raise Rejected(Reason.VALUE_OUT_OF_RANGE, f"{reader.where('path')}: step numbers are too large")
    return tuple(steps)


def _functional_problems(reader: _Reader) -> tuple[dict[str, Any], ...] | None:
    problems = reader.objects("functional_problems")
    if problems is None:
        return None
    for prefix, item in problems:
        problem = reader.within(prefix, item)
        problem.text("kind")
        problem.text("message", required=False)
        problem.integer("ts_ns", required=False)
    return tuple(item for _, item in problems)


def _trace_in(folder: Path, name: str) -> Path:
    where = f"{folder.name}/{RUN_JSON}, key trace = {name[:200]!r}"
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts or "\\" in name or "\0" in name:
        raise Rejected(Reason.TRACE_OUTSIDE_FOLDER, where)
    path = folder / name
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            raise Rejected(Reason.TRACE_OUTSIDE_FOLDER, f"{where} is a link out of the folder")
        if not path.is_file():
            raise Rejected(Reason.TRACE_FILE_MISSING, where)
        others = sorted(
            found.name
            for found in folder.iterdir()
            if found.name.endswith(TRACE_SUFFIXES) and found.resolve() != path.resolve()
        )
    except OSError as error:
        raise Rejected(Reason.TRACE_FILE_MISSING, f"{where}: {error.strerror or error}") from error
    if others:
        raise Rejected(Reason.TRACE_FILE_AMBIGUOUS, f"{folder.name} holds {name[:100]} and {', '.join(others)[:200]}")
    return path


def _hash_file(path: Path) -> tuple[int, str]:
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256")
            return stream.tell(), digest.hexdigest()
    except OSError as error:
        raise Rejected(
            Reason.FOLDER_UNREADABLE, f"{path.parent.name}/{path.name}: {error.strerror or error}"
        ) from error


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
