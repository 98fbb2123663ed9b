"""Makes long traces small: judges windows of time against a reference, keeps what is unusual with a rim around it.

What is written is a folder per trace: the cut trace, which Perfetto opens, and perfreg.reduction.json, which says what
was judged how, and what is in the seconds that were dropped.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from perfreg_assets.model.reduction_document import Reduced, document
from perfreg_assets.model.window_judging import Learned, Windows, judge_trace
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces import reduced
from perfreg_assets.traces.cutting import Cut, cut_trace
from perfreg_assets.traces.gate import FileFacts, check_file
from perfreg_assets.whole_files import whole_file, write_whole


def reduce_trace(
    path: Path,
    folder: Path,
    settings: Settings,
    learned: Learned | None = None,
    *,
    app: str | None = None,
    span: tuple[int, int] | None = None,
) -> Reduced:
    """Writes a folder with the reduced trace and what was dropped; a trace that was gzip stays so.

    Args:
        app, span: see `judge_trace`.

    Raises:
        Rejected: as `judge_trace`; TRACE_REDUCED: it is one already; REDUCTION_EXISTS; FOLDER_UNWRITABLE;
            HOST_NO_SPACE.
    """
    facts = check_file(path, settings=settings)
    if facts.is_reduced:
        raise Rejected(Reason.TRACE_REDUCED, path.name)
    target = folder / path.name
    if target.exists():
        raise Rejected(Reason.REDUCTION_EXISTS, str(target))
    windows = judge_trace(path, settings, learned, app=app, span=span)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(target, is_durable=True) as file:
            cut, digest = _write(file, path, facts, windows, settings)
            made = Reduced(target, facts, windows, cut, digest, file.tell())
            told = json.dumps(document(made), separators=(",", ":"))
            write_whole(folder / reduced.DOCUMENT, told.encode(), is_durable=True)
    except OSError as error:
        reason = Reason.HOST_NO_SPACE if error.errno in (errno.ENOSPC, errno.EDQUOT) else Reason.FOLDER_UNWRITABLE
        raise Rejected(reason, f"{target.parent}: {error.strerror}") from error
    return made


def _write(file: BinaryIO, path: Path, facts: FileFacts, windows: Windows, settings: Settings) -> tuple[Cut, str]:
    # No name and no time in the gzip header: the same trace gives the same bytes.
    stream = gzip.GzipFile("", "wb", 6, file, 0) if facts.is_gzip else file
    write = cast("Callable[[bytes], object]", stream.write)
    write(reduced.mark())
    cut = cut_trace(path, settings.trace_max_bytes, windows.stretches, windows.events.bundles, write)
    if stream is not file:
        stream.close()
    file.flush()
    with open(file.name, "rb") as written:
        return cut, hashlib.file_digest(written, "sha256").hexdigest()
