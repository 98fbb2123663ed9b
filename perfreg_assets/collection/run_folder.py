"""The run folder: what a test run leaves behind (public format, schema_version 1).

`read_run_folder` takes a folder apart; what does not hold is `Rejected` with a reason code and nothing is kept.
`write_run_folder` writes one so that no reader ever meets half of it. What the trace contains is not looked at
here: that is the gate's job.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from perfreg_assets.collection import run_json
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.regular_file import read_regular, resolved
from perfreg_assets.run import Configuration, PathStep, Run
from perfreg_assets.settings import Settings
from perfreg_assets.storable_text import MOST_LEVELS, require_shallow, require_storable, told_once
from perfreg_assets.traces import gate
from perfreg_assets.whole_files import sync_directory

RUN_JSON = "run.json"
TRACE_SUFFIXES = (".perfetto-trace", ".pftrace", ".perfetto-trace.gz", ".pftrace.gz")


@dataclass(frozen=True, kw_only=True)
class RunFolder(Run):
    """A run in its folder: run.json is checked, the trace is read when something of it is first asked for.

    Attributes:
        trace_bytes, trace_sha256: as run.json states them, if it does; `trace` has the file's own.
        extra: what the format does not know, see `RunDocument.unknown_keys`.
    """

    folder: Path
    stated_run_id: str | None
    app: str
    version_name: str
    config: Configuration
    started_at: datetime
    path: tuple[PathStep, ...]
    trace_file: str
    extra: dict[str, Any]
    text: bytes = field(repr=False)
    settings: Settings = field(repr=False)

    @property
    def trace_path(self) -> Path:
        return self.folder / self.trace_file

    @cached_property
    def trace(self) -> gate.FileFacts:
        """The trace's bytes, read and checked once.

        Raises:
            Rejected: see `gate.check_file`.
        """
        return gate.check_file(
            self.trace_path, expected_bytes=self.trace_bytes, expected_sha256=self.trace_sha256, settings=self.settings
        )

    @property
    def run_id(self) -> str:
        """As stated, else the first 16 hex digits of the trace's SHA-256."""
        return self.stated_run_id or id_of_trace(self.trace.sha256)

    @property
    def content_hash(self) -> str:
        """SHA-256 over run.json and the trace: what makes it the same run, whatever the folder is called."""
        return hashlib.sha256(self.text + self.trace.sha256.encode()).hexdigest()


def id_of_trace(sha256: str) -> str:
    """The id of a run that states none."""
    return sha256[:16]


def read_run_folder(folder: Path, settings: Settings) -> RunFolder:
    """Reads and checks a run folder's run.json and that its trace is there; the trace's bytes are left for later.

    Raises:
        Rejected: with the reason code of what does not hold.
    """
    folder = Path(folder)
    text = _read_run_json(folder, settings)
    document = run_json.read(_parse(folder, text), f"{folder.name}/{RUN_JSON}", path_max_steps=settings.path_max_steps)
    _require_trace(folder, document.trace)
    exploration = document.exploration
    return RunFolder(
        folder=folder,
        stated_run_id=document.run_id,
        app=document.app,
        version_name=document.version_name,
        version_code=document.version_code,
        config=document.configuration,
        **vars(document.configuration),
        started_at=document.started_at,
        scenario=document.scenario,
        exploration_start_ns=exploration.start_ns if exploration else None,
        exploration_end_ns=exploration.end_ns if exploration else None,
        path=document.steps,
        functional_problems=document.problems,
        trace_file=document.trace,
        trace_bytes=document.trace_bytes,
        trace_sha256=(document.trace_sha256 or "").lower() or None,
        extra=document.unknown_keys,
        text=text,
        settings=settings,
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
    sync_directory(destination.parent)
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
    path, most = folder / RUN_JSON, settings.run_json_max_bytes
    try:
        if not path.exists():
            raise Rejected(
                Reason.RUN_JSON_MISSING, f"{folder.name} has no {RUN_JSON} with {', '.join(run_json.REQUIRED)}"
            )
        place = resolved(path)
        if not place.is_relative_to(resolved(folder)):
            raise Rejected(Reason.RUN_JSON_MISSING, f"{folder.name}/{RUN_JSON} is a link out of the folder")
        text = read_regular(place, most)
    except OSError as error:
        raise Rejected(Reason.FOLDER_UNREADABLE, f"{folder.name}/{RUN_JSON}: {error.strerror or error}") from error
    if len(text) > most:
        raise Rejected(
            Reason.RUN_JSON_TOO_LARGE, f"{folder.name}/{RUN_JSON} has more than the {most:,} bytes that are allowed"
        )
    return text


def _parse(folder: Path, raw: bytes) -> dict[str, Any]:
    where = f"{folder.name}/{RUN_JSON}"

    def refuse_constant(name: str) -> None:
        raise Rejected(Reason.VALUE_OUT_OF_RANGE, f"{where} holds {name}, which is not a JSON number")

    try:  # what Windows' programs write has a mark before it
        document = json.loads(raw.decode("utf-8-sig"), parse_constant=refuse_constant, object_pairs_hook=told_once)
    except UnicodeDecodeError as error:
        raise Rejected(Reason.RUN_JSON_NOT_UTF8, f"{where}, byte {error.start}") from error
    except RecursionError as error:
        detail = f"{where} is nested more than {MOST_LEVELS} levels deep"
        raise Rejected(Reason.RUN_JSON_NOT_JSON, detail) from error
    except ValueError as error:
        raise Rejected(Reason.RUN_JSON_NOT_JSON, f"{where}: {error}") from error
    if not isinstance(document, dict):
        raise Rejected(Reason.WRONG_TYPE, f"{where} is not a JSON object")
    require_shallow(document, Reason.RUN_JSON_NOT_JSON, where)
    require_storable(document, Reason.RUN_JSON_NOT_UTF8, where)
    return document


def leads_out(name: str) -> bool:
    """Whether a name in run.json is not that of a file within the folder, by its spelling."""
    relative = PurePosixPath(name)
    return relative.is_absolute() or ".." in relative.parts or "\\" in name or "\0" in name


def _require_trace(folder: Path, name: str) -> None:
    where = f"{folder.name}/{RUN_JSON}, key trace = {name[:200]!r}"
    if leads_out(name):
        raise Rejected(Reason.TRACE_OUTSIDE_FOLDER, where)
    path = folder / name
    try:
        place = resolved(path)
        if not place.is_relative_to(resolved(folder)):
            raise Rejected(Reason.TRACE_OUTSIDE_FOLDER, f"{where} is a link out of the folder")
        if not path.is_file():
            raise Rejected(Reason.TRACE_FILE_MISSING, where)
        others = sorted(
            found.name
            for found in folder.iterdir()
            if found.name.endswith(TRACE_SUFFIXES) and not _is_same(found, place)
        )
    except OSError as error:
        raise Rejected(Reason.TRACE_FILE_MISSING, f"{where}: {error.strerror or error}") from error
    if others:
        raise Rejected(Reason.TRACE_FILE_AMBIGUOUS, f"{folder.name} holds {name[:100]} and {', '.join(others)[:200]}")


def _is_same(path: Path, place: Path) -> bool:
    try:
        return resolved(path) == place
    except OSError:  # leads nowhere
        return False
