"""What else lies in a run folder: screenshots, a video, logs, profiles. Never read for a verdict, kept and placed in
time; profiles tell causes."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from perfreg_assets.collection.run_folder import RUN_JSON, RunFolder
from perfreg_assets.regular_file import open_regular, resolved
from perfreg_assets.settings import Settings
from perfreg_assets.traces.profile_files import HEAD_BYTES, ProfileFile, ProfileKind, profile_kind
from perfreg_assets.warehouse.attachments import AttachmentRow

Kind = Literal["screenshot", "video", "log", "other"] | ProfileKind

_SUFFIXES: Mapping[Kind, frozenset[str]] = {
    "screenshot": frozenset({".png", ".jpg", ".jpeg", ".webp"}),
    "video": frozenset({".mp4", ".webm", ".mkv", ".mov", ".3gp"}),
    "log": frozenset({".log", ".txt", ".logcat"}),
}


@dataclass(frozen=True)
class Findings:
    """The attachments by name, and in a sentence each what was left where it is."""

    attachments: tuple[AttachmentRow, ...]
    notes: tuple[str, ...]


def find_attachments(run: RunFolder, settings: Settings) -> Findings:
    """Hashes every file of a run folder besides run.json and the trace; links and special files stay where they are.

    A file's moment is that of the step that names it (any key of the step in run.json), else of the step whose number
    is its name (`0003.png`).
    """
    found: list[AttachmentRow] = []
    notes: list[str] = []
    moments = _moments(run)
    total = 0
    trace = resolved(run.trace_path)
    for name in _file_names(run.folder, notes):
        path = run.folder / name
        if name == RUN_JSON or resolved(path) == trace:
            continue
        if len(found) >= settings.attachments_max_count:
            notes.append(f"{name} and what follows: more than {settings.attachments_max_count:,} files")
            break
        try:
            size, sha256, head = _hash(path, settings.attachments_max_bytes - total)
        except OSError as error:
            notes.append(f"{name}: {error.strerror or error}")
            continue
        if sha256 is None:
            notes.append(f"{name}: the folder's files have more than {settings.attachments_max_bytes:,} bytes")
            continue
        total += size
        found.append(
            AttachmentRow(
                run_id=run.run_id,
                file_name=name,
                kind=profile_kind(head) or kind_of(name),
                bytes=size,
                sha256=sha256,
                ts_ns=_moment(name, moments),
            )
        )
    return Findings(tuple(found), tuple(notes))


def profiles_beside(run: RunFolder, settings: Settings) -> tuple[list[ProfileFile], list[str]]:
    """Profiles in a run folder that is read as it is, by name; and in a sentence each what was passed over."""
    trace = resolved(run.trace_path)
    found: list[ProfileFile] = []
    notes: list[str] = []
    for name in _file_names(run.folder, notes):
        path = run.folder / name
        if name == RUN_JSON or resolved(path) == trace:
            continue
        try:
            _, sha256, head = _hash(path, settings.attachments_max_bytes)
        except OSError as error:
            notes.append(f"{name}: {error.strerror or error}")
            continue
        if sha256 is not None and (kind := profile_kind(head)) is not None:
            found.append(ProfileFile(name, nullcontext(path), kind, sha256))
    return found, notes


def kind_of(name: str) -> Kind:
    """By the suffix; `.gz` says nothing."""
    suffix = PurePosixPath(name.lower().removesuffix(".gz")).suffix
    return next((kind for kind, suffixes in _SUFFIXES.items() if suffix in suffixes), "other")


def _file_names(folder: Path, notes: list[str]) -> Iterator[str]:
    """Regular files in order of their relative names; hidden ones are somebody else's, what is passed over is noted."""
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        linked = [name for name in folders if os.path.islink(os.path.join(where, name))]
        for name in sorted([*files, *linked]):
            if name.startswith("."):
                continue
            path = Path(where, name)
            relative = path.relative_to(folder).as_posix()
            if not _is_text(relative):
                notes.append(f"{relative!r}: the name is not UTF-8")
                continue
            try:
                mode = path.lstat().st_mode
            except OSError as error:  # gone since it was listed: files before it were hashed meanwhile
                notes.append(f"{relative}: {error.strerror or error}")
                continue
            if stat.S_ISLNK(mode):
                notes.append(f"{relative} is a link; copy the file itself into the folder")
            elif not stat.S_ISREG(mode):
                notes.append(f"{relative} is not a regular file")
            else:
                yield relative


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _hash(path: Path, most: int) -> tuple[int, str | None, bytes]:
    """(size, SHA-256, first bytes), the second None where the file is larger than `most`."""
    if path.stat().st_size > most:
        return 0, None, b""
    # A link or a FIFO that took the file's place since it was looked at is not followed and not waited for.
    with open_regular(path) as stream:
        head = stream.read(HEAD_BYTES)
        stream.seek(0)
        digest = hashlib.file_digest(stream, "sha256")
        return stream.tell(), digest.hexdigest(), head


def _moments(run: RunFolder) -> dict[str, int]:
    """File name or step number → moment."""
    unknown: Mapping[str, Mapping[str, Any]] = run.extra.get("path", {})
    found: dict[str, int] = {}
    for step in run.path:
        if step.ts_ns is None:
            continue
        found[str(step.step)] = step.ts_ns
        for value in unknown.get(str(step.step), {}).values():
            if isinstance(value, str):
                found.setdefault(f"/{PurePosixPath(value).as_posix()}", step.ts_ns)
    return found


def _moment(name: str, moments: Mapping[str, int]) -> int | None:
    stem = PurePosixPath(name).stem
    number = str(int(stem)) if stem.isascii() and stem.isdigit() and len(stem) <= 10 else None
    return moments.get(f"/{name}", moments.get(number) if number is not None else None)
