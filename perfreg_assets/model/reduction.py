"""Makes long traces small: judges windows of time against a reference, keeps what is unusual with a rim around it.

What is written is a folder per trace: the cut trace, which Perfetto opens, and perfreg.reduction.json, which says what
was judged how, and what is in the seconds that were dropped.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast

from perfreg_assets.model.reduction_document import Reduced, document
from perfreg_assets.model.window_judging import Learned, Windows, judge_trace
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces import reduced
from perfreg_assets.traces.cutting import Cut, cut_trace
from perfreg_assets.traces.gate import FileFacts, check_file


def reduce_trace(
    path: Path, folder: Path, settings: Settings, learned: Learned | None = None, *, app: str | None = None
) -> Reduced:
    """Writes a folder with the reduced trace and what was dropped; a trace that was gzip stays so.

    Args:
        app: whose load counts, where the trace's own beginning is the reference.

    Raises:
        Rejected: as `judge_trace`; TRACE_REDUCED: it is one already; REDUCTION_EXISTS; HOST_NO_SPACE.
    """
    facts = check_file(path, settings=settings)
    if facts.is_reduced:
        raise Rejected(Reason.TRACE_REDUCED, path.name)
    target = folder / path.name
    if target.exists():
        raise Rejected(Reason.REDUCTION_EXISTS, str(target))
    windows = judge_trace(path, settings, learned, app=app)
    folder.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    try:
        cut, digest = _write(part, path, facts, windows, settings)
        made = Reduced(target, facts, windows, cut, digest, part.stat().st_size)
        _write_text(folder / reduced.DOCUMENT, json.dumps(document(made), separators=(",", ":")))
        part.rename(target)
    except OSError as error:
        raise Rejected(Reason.HOST_NO_SPACE, f"{target}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
    return made


def _write(part: Path, path: Path, facts: FileFacts, windows: Windows, settings: Settings) -> tuple[Cut, str]:
    with part.open("wb") as file:
        # No name and no time in the gzip header: the same trace gives the same bytes.
        stream = gzip.GzipFile("", "wb", 6, file, 0) if facts.is_gzip else file
        write = cast("Callable[[bytes], object]", stream.write)
        write(reduced.mark())
        cut = cut_trace(path, settings.trace_max_bytes, windows.stretches, windows.events.bundles, write)
        if stream is not file:
            stream.close()
        _sync(file)
    with part.open("rb") as file:
        return cut, hashlib.file_digest(file, "sha256").hexdigest()


def _write_text(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        _sync(file)
    part.rename(path)


def _sync(file: IO[Any]) -> None:
    file.flush()
    os.fsync(file.fileno())
