"""Builds of an app: which one an APK is, and which APKs lie ready in a watched folder."""

from __future__ import annotations

import hashlib
import json
import logging
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from perfreg_assets import validation
from perfreg_assets.collection.config import check_app_id
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.storable_text import told_once

_SIDE_CAR_MAX_BYTES = 64 * 1024


@dataclass(frozen=True)
class Build:
    """One APK and what it says about itself."""

    path: str
    app: str
    version_name: str
    version_code: int | None
    content_hash: str
    """SHA-256 of the file: the same build under two names is one build."""


def read_build(path: Path) -> Build:
    """Reads an APK's manifest, or the JSON beside it (`shop.apk` → `shop.apk.json`) where there is one.

    The side-car holds `package`, `version_name` and optionally `version_code`; it is for files whose manifest
    is not readable or does not say the version that is meant.

    Raises:
        Rejected: BUILD_UNREADABLE, BUILD_MISMATCH, APP_ID_INVALID.
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:
            content_hash = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise Rejected(Reason.BUILD_UNREADABLE, f"{path.name}: {error.strerror or error}") from error
    side_car = _side_car(path)
    app, version_name, version_code = _from_side_car(side_car) if side_car.is_file() else _from_manifest(path)
    check_app_id(app)
    if not version_name.strip():
        raise Rejected(Reason.BUILD_UNREADABLE, f"{path.name} has no version name")
    return Build(str(path), app, version_name, version_code, content_hash)


def _side_car(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _from_manifest(path: Path) -> tuple[str, str, int | None]:
    from pyaxmlparser import APK  # noqa: PLC0415  (lxml and more: half a second that only this needs)

    logging.getLogger("pyaxmlparser").setLevel(logging.ERROR)
    if not zipfile.is_zipfile(path):
        raise Rejected(Reason.BUILD_UNREADABLE, f"{path.name} is not a whole APK")
    try:
        apk = APK(str(path))
        package, version_name, version_code = apk.package, apk.version_name, apk.version_code
    except Exception as error:  # (the parser raises whatever its input makes it raise)
        raise Rejected(Reason.BUILD_UNREADABLE, f"{path.name}: {type(error).__name__}: {error}"[:300]) from error
    if not package:
        raise Rejected(Reason.BUILD_UNREADABLE, f"{path.name} has no readable AndroidManifest.xml")
    code = str(version_code or "").strip()
    return package, version_name or "", int(code) if code.isdigit() else None


class _SideCar(BaseModel):
    model_config = ConfigDict(strict=True)

    package: str
    version_name: str
    version_code: Annotated[int, Field(ge=0)] | None = None


def _from_side_car(path: Path) -> tuple[str, str, int | None]:
    try:
        if path.stat().st_size > _SIDE_CAR_MAX_BYTES:
            raise Rejected(Reason.BUILD_UNREADABLE, f"{path.name} is larger than {_SIDE_CAR_MAX_BYTES:,} bytes")
        found = _SideCar.model_validate(json.loads(path.read_bytes(), object_pairs_hook=told_once))
    except ValidationError as error:
        first = validation.problems(error)[0]
        what = f"key {first.place}" if first.place else "its content"
        raise Rejected(Reason.BUILD_UNREADABLE, f"{path.name}: {what} has to be {first.expected}") from error
    except (OSError, ValueError) as error:
        raise Rejected(Reason.BUILD_UNREADABLE, f"{path.name}: {error}") from error
    return found.package, found.version_name, found.version_code


def check_build(build: Build, *, app: str, version_name: str | None) -> None:
    """Refuses a build that is not the one that was asked for.

    Raises:
        Rejected: BUILD_MISMATCH.
    """
    if build.app != app:
        raise Rejected(Reason.BUILD_MISMATCH, f"{Path(build.path).name} is {build.app}, asked for is {app}")
    if version_name is not None and build.version_name != version_name:
        raise Rejected(
            Reason.BUILD_MISMATCH,
            f"{Path(build.path).name} is version {build.version_name!r}, asked for is {version_name!r}",
        )


# ---- watched folder ------------------------------------------------------------------------------
@dataclass(frozen=True)
class FolderScan:
    """What a watched folder holds. `seen` goes into the next scan: name → [size, mtime_ns], then 1 where it is finished
    (else 0), then size and mtime_ns of the side-car where there is one."""

    builds: tuple[Build, ...]
    growing: tuple[str, ...]
    """Files that are still being written, or may be."""
    refused: tuple[tuple[str, Rejected], ...]
    seen: dict[str, list[int]] = field(default_factory=dict)


def scan_builds(
    folder: Path,
    seen: Mapping[str, list[int]] | None = None,
    *,
    settle_s: float = 10.0,
    skip_unchanged: bool = False,
) -> FolderScan:
    """The finished APKs of a folder, by name.

    A file counts as finished when its size and time, and those of its side-car, are those of the scan before, or when
    neither has been written to for `settle_s`. Names that start with a dot are someone's unfinished copies.
    With `skip_unchanged` the files that `seen` lists as finished are not read again.
    """
    before = seen or {}
    builds, growing, refused, now_seen = [], [], [], {}
    for path in sorted(folder.glob("*.apk")) if folder.is_dir() else []:
        if path.name.startswith("."):
            continue
        try:
            own = _state(path)
        except FileNotFoundError:
            continue  # renamed or deleted while we looked
        try:
            side = _state(_side_car(path))
        except FileNotFoundError:
            side = []
        earlier = before.get(path.name, [])
        was_finished = earlier[2:3] == [1]
        unchanged = earlier[:2] == own and earlier[3:] == side
        written_s = max([own[1], *side[1:]]) / 1e9
        if not unchanged and time.time() - written_s < settle_s:
            growing.append(path.name)
            now_seen[path.name] = [*own, 0, *side]
            continue
        now_seen[path.name] = [*own, 1, *side]
        if skip_unchanged and unchanged and was_finished:
            continue
        try:
            builds.append(read_build(path))
        except Rejected as refusal:
            refused.append((path.name, refusal))
    return FolderScan(tuple(builds), tuple(growing), tuple(refused), now_seen)


def _state(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]
